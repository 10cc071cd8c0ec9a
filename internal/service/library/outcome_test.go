package library_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/library"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// talk is a conversation with a turn whose run has used a skill.
func (b *bundle) talk(name string, id int64, version int) {
	b.t.Helper()
	run := b.as(agent.OriginAgent).Run
	b.exec("insert into conversations (workspace_id, external_id, next_seq, next_turn) values ($1, $2, 0, 2)", b.ws.ID,
		name)
	b.exec(`insert into turns
(workspace_id, conversation_id, number, message_id, mode, origin, args_sha, run_id, first_seq)
select $1, id, 1, 'm', 'answer', 'user', sha256('x'), $3, 0
from conversations where external_id = $2`, b.ws.ID, name, run)
	testkit.Must(b.t, b.RecordUse(b.t.Context(), b.ws.ID, skill.Use{Skill: id, ID: "run/" + run, Version: version}))
}

// states records how a conversation ended for a person, and returns the effects.
func (b *bundle) states(voter, conversation string, how transcript.Verdict) []library.UseEffect {
	b.t.Helper()
	out, err := b.State(b.t.Context(), b.ws.ID, conversation, transcript.Statement{Voter: voter, Outcome: how})
	testkit.Must(b.t, err)
	return out
}

// uses records uses of the version in force with their outcomes: p for a pass, f for a failure.
func (b *bundle) uses(id int64, outcomes string) (head skill.Head) {
	b.t.Helper()
	for _, r := range outcomes {
		head = b.head(id)
		outcome := skill.Pass
		if r == 'f' {
			outcome = library.Fail
		}
		testkit.Must(
			b.t,
			b.RecordUse(b.t.Context(), b.ws.ID, skill.Use{Skill: id, ID: fmt.Sprint("use-", b.ops.Add(1)),
				Version: head.Version, Outcome: outcome}),
		)
	}
	return b.head(id)
}

func (b *bundle) head(id int64) (head skill.Head) {
	b.t.Helper()
	testkit.Must(b.t, b.Store.InWorkspace(b.t.Context(), b.ws.ID, func(ctx context.Context, tx store.Tx) (err error) {
		head, err = tx.Skills().SkillHead(ctx, id)
		return err
	}))
	return head
}

// deployed saves the skill deploy-web, and changes it so often.
func (b *bundle) deployed(changes int) int64 {
	b.t.Helper()
	user := agent.Actor{Workspace: b.ws.ID, Origin: agent.OriginUser}
	b.does(user, "skill_save", deploy(), "created", 1)
	words := []string{"Build", "Make", "Bake", "Cook"}
	for i := range changes {
		b.does(user, "skill_patch", patchOf(words[i], words[i+1]), "patched", i+2)
	}
	return int64(b.number("select id from skills"))
}

func TestAVersionThatFailsThreeTimesGivesWayToAProvenOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.uses(id, "ppp")
	user := agent.Actor{Workspace: b.ws.ID, Origin: agent.OriginUser}
	b.does(user, "skill_patch", patchOf("Build", "Make"), "patched", 2)
	if head := b.uses(id, "ff"); head.Version != 2 || head.Status != skill.Active {
		t.Fatalf("after two failures: %+v", head)
	}
	if head := b.uses(id, "f"); head.Version != 3 || head.Status != skill.Active {
		t.Fatalf("after three failures: %+v", head)
	}
	if body := b.column(
		"select body from skill_versions where version = 3",
	); !strings.Contains(
		body,
		"Build the image",
	) {
		t.Errorf("version 3 is not that of version 1: %s", body)
	}
	if got := b.column("select action from audit_events where action = 'skill.withdraw'"); got != "skill.withdraw" {
		t.Errorf("the audit log has %q", got)
	}
	proposals, err := b.Proposals(t.Context(), b.ws.ID, 10)
	testkit.Must(t, err)
	if len(proposals) != 1 || proposals[0].Change == nil || approval.Worst(proposals[0].Findings) != approval.Review ||
		!strings.Contains(proposals[0].Change.Reason, "failed 3 times in a row") ||
		!strings.Contains(b.ProposedDiff(proposals[0]), "+1. Make the image") {
		t.Fatalf("the inbox has %+v", proposals)
	}
	head, err := b.ApproveChange(t.Context(), b.ws.ID, proposals[0].Change.ID, approval.Decision{SHA: proposals[0].SHA})
	testkit.Must(t, err)
	if head.Version != 4 {
		t.Errorf("approved: %+v", head)
	}
}

func TestASkillWithoutAProvenVersionBecomesADraft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(1)
	if head := b.uses(id, "pfff"); head.Version != 2 || head.Status != skill.DraftStatus {
		t.Fatalf("got %+v", head)
	}
	p, err := b.NewSkill(t.Context(), b.ws.ID, id)
	testkit.Must(t, err)
	last := p.Findings[len(p.Findings)-1]
	if last.Check != "outcome" || last.Severity != approval.Review || !strings.Contains(last.Text, "version 2 failed") {
		t.Errorf("the inbox shows %+v", p.Findings)
	}
	found, err := b.Finder.SkillsThatAre(t.Context(), b.ws.ID, "deploy the web service",
		[]skill.Status{skill.Active, skill.Stale}, 5)
	if testkit.Must(t, err); len(found) > 0 {
		t.Errorf("a draft is found: %+v", found)
	}
	head, err := b.Approve(t.Context(), b.ws.ID, id, approval.Decision{SHA: p.SHA})
	if testkit.Must(t, err); head.Status != skill.Active {
		t.Errorf("approved: %+v", head)
	}
}

func TestAPinnedSkillThatFailsStaysAndIsProposedForArchiving(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	_, err := b.Pin(t.Context(), b.ws.ID, id, true)
	testkit.Must(t, err)
	if head := b.uses(id, "ffff"); head.Version != 1 || head.Status != skill.Active {
		t.Fatalf("got %+v", head)
	}
	if waiting := b.changes(); len(waiting) != 1 || waiting[0].Op != library.OpArchive ||
		!strings.Contains(waiting[0].Reason, "in a row") {
		t.Errorf("the inbox has %+v", waiting)
	}
}

func TestAStatedOutcomeIsThatOfTheSkillsOfTheConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	for i := range 3 {
		b.talk(fmt.Sprint("talk-", i), id, 1)
	}
	counts := func() string {
		return b.column("select concat(uses, ' uses, ', trials, ' trials, ', passes, ' passes') from skills")
	}
	for _, step := range []struct {
		voter string
		how   transcript.Verdict
		want  string
	}{
		{"key/1", transcript.Success, "3 uses, 1 trials, 1 passes"},
		{"key/1", transcript.Success, "3 uses, 1 trials, 1 passes"},
		{"key/1", transcript.Failure, "3 uses, 1 trials, 0 passes"}, // replaces the earlier one
		{"key/2", transcript.Success, "3 uses, 1 trials, 1 passes"}, // the latest of two people
		{"key/2", transcript.Unknown, "3 uses, 1 trials, 0 passes"}, // that of the first person is left
		{"key/1", transcript.Unknown, "3 uses, 0 trials, 0 passes"},
	} {
		effects := b.states(step.voter, "talk-0", step.how)
		if got := counts(); got != step.want || len(effects) != 1 || effects[0].Skill != "deploy-web" {
			t.Errorf("%s states %s: %s, %+v, want %s", step.voter, step.how, got, effects, step.want)
		}
	}
	if eta := b.head(id).Eta; eta < .499 || eta > .501 {
		t.Errorf("the reliability without trials is %v, want the prior", eta)
	}
	b.states("key/1", "talk-0", transcript.Failure)
	c, err := b.store.Excerpt(t.Context(), b.ws.ID, int64(b.number("select id from conversations where external_id = "+
		"'talk-0'")), 0, 0)
	if testkit.Must(t, err); c.Verdict() != transcript.Failure {
		t.Errorf("a distillation reads the verdict %s", c.Verdict())
	}
	b.states("key/1", "talk-1", transcript.Failure)
	last := b.states("key/1", "talk-2", transcript.Failure)
	if len(last) != 1 || last[0].Withdrawn == "" || last[0].Status != skill.DraftStatus {
		t.Errorf("after three failed conversations: %+v", last)
	}
	again := b.states("key/1", "talk-2", transcript.Failure)
	if len(again) != 1 || again[0].Withdrawn != "" || b.number("select count(*) from audit_events where action = "+
		"'skill.withdraw'") != 1 {
		t.Errorf("a repeated statement: %+v", again)
	}
	_, err = b.State(t.Context(), b.ws.ID, "no-such", transcript.Statement{Voter: "v", Outcome: transcript.Success})
	if f := fault.From(err); f.Code != fault.NotFound || f.Hint == "" {
		t.Errorf("an unknown conversation: %v", err)
	}
	_, err = b.State(t.Context(), b.ws.ID, "no-such", transcript.Statement{Voter: "v", Outcome: transcript.Unknown})
	if f := fault.From(err); f.Code != fault.NotFound || f.Hint == "" {
		t.Errorf("an unknown conversation: %v", err)
	}
}

func TestConcurrentFailuresWithdrawAVersionOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.uses(id, "pp")
	user := agent.Actor{Workspace: b.ws.ID, Origin: agent.OriginUser}
	b.does(user, "skill_patch", patchOf("Build", "Make"), "patched", 2)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := b.RecordUse(t.Context(), b.ws.ID, skill.Use{Skill: id, ID: fmt.Sprint("at-once-", i), Version: 2,
				Outcome: library.Fail})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if head := b.head(id); head.Version != 3 || len(b.changes()) != 1 {
		t.Errorf("got %+v and changes %+v", head, b.changes())
	}
}

func TestVotesOnASkill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	for _, step := range []struct {
		voter, opinion, want string
	}{
		{"a", skill.Pass, "0 1 1"}, {"a", library.Fail, "0 1 0"}, {"b", library.Fail, "0 2 0"}, {"b", "", "0 1 0"},
		{"c", "", "0 1 0"},
	} {
		_, err := b.Vote(t.Context(), b.ws.ID, id, step.voter, step.opinion)
		testkit.Must(t, err)
		if got := b.column("select concat_ws(' ', uses, trials, passes) from skills"); got != step.want {
			t.Errorf("%s votes %q: uses, trials, passes %s, want %s", step.voter, step.opinion, got, step.want)
		}
	}
	for _, voter := range []string{"b", "c"} {
		_, err := b.Vote(t.Context(), b.ws.ID, id, voter, library.Fail)
		testkit.Must(t, err)
	}
	if head := b.head(id); head.Status != skill.DraftStatus {
		t.Errorf("three people reject it: %+v", head)
	}
	_, err := b.Vote(audit.With(t.Context(), audit.Actor{Kind: audit.CLI}), b.ws.ID, id+1, "a", skill.Pass)
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a vote on an unknown skill: %v", err)
	}
}
