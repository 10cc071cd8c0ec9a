package library_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/library"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// canary proposes an update of version 1 of the skill deploy-web, with "Make" instead of "Build", as a canary.
func (b *bundle) canary(id int64) (change int64) {
	b.t.Helper()
	testkit.Must(b.t, b.Store.InWorkspace(b.t.Context(), b.ws.ID, func(ctx context.Context, tx store.Tx) error {
		v, err := tx.Skills().Version(ctx, id, 1)
		if err != nil {
			return err
		}
		v.Body, v.Op, v.Number = strings.Replace(v.Body, "Build", "Make", 1), skill.OpUpdate, 0
		v.ContentSHA = skill.ContentHash(v.Document(), v.Files)
		change, err = tx.PendingSkills().PutPending(ctx, skill.Pending{Skill: id, Base: 1, Version: v, Canary: true,
			Reason: "canary", Origin: string(agent.OriginDistill)})
		return err
	}))
	return change
}

// conversing is the agent of the only turn of a new conversation.
func (b *bundle) conversing(name string) agent.Actor {
	b.t.Helper()
	a := b.as(agent.OriginAgent)
	b.exec("insert into conversations (workspace_id, external_id, next_seq, next_turn) values ($1, $2, 0, 2)", b.ws.ID,
		name)
	b.exec(`insert into turns
(workspace_id, conversation_id, number, message_id, mode, origin, args_sha, run_id, first_seq)
select $1, id, 1, 'm', 'answer', 'user', sha256('x'), $3, 0
from conversations where external_id = $2`, b.ws.ID, name, a.Run)
	a.Conversation = int64(b.number("select id from conversations where external_id = $1", name))
	return a
}

// works has a conversation whose turn reads the skill, and returns the text that it reads.
func (b *bundle) works(name string) (conversation int64, text string) {
	b.t.Helper()
	a := b.conversing(name)
	view := b.call(a, "skill_view", object{"name": "deploy-web"})
	return a.Conversation, fmt.Sprint(view["content"])
}

// canaries has conversations until so many have seen the canary, and says how they ended. It returns the
// last effect of an outcome.
func (b *bundle) canaries(change int64, n int, how transcript.Verdict) (last library.UseEffect) {
	b.t.Helper()
	for n > 0 {
		name := fmt.Sprint("talk-", b.ops.Add(1))
		conversation, text := b.works(name)
		shown := review.ShownIn(conversation, change)
		if shown != strings.Contains(text, "Make the image") || shown == strings.Contains(text, "Build the image") {
			b.t.Fatalf("conversation %d, shown %t, reads %s", conversation, shown, text)
		}
		if !shown {
			continue
		}
		effects := b.states("key/1", name, how)
		if len(effects) != 1 {
			b.t.Fatalf("the outcome has the effects %+v", effects)
		}
		last, n = effects[0], n-1
	}
	return last
}

// trusted has five conversations with version 1 of a skill, and says how they ended.
func (b *bundle) trusted(id int64, verdicts ...transcript.Verdict) {
	b.t.Helper()
	for i, v := range verdicts {
		b.talk(fmt.Sprint("before-", i), id, 1)
		b.states("key/1", fmt.Sprint("before-", i), v)
	}
}

const (
	good = transcript.Success
	bad  = transcript.Failure
)

func TestACanaryThatDoesBetterTakesEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.trusted(id, good, bad, good, bad, good)
	change := b.canary(id)
	if got := b.canaries(change, 9, good); got.Version != 1 || got.Canary != "" {
		t.Fatalf("after 9 outcomes: %+v", got)
	}
	p, err := b.PendingChange(t.Context(), b.ws.ID, change)
	testkit.Must(t, err)
	if c := p.Canary; c == nil || c.Share != 20 || c.Passed != 9 || c.Failed != 0 || c.Better < .9 || c.Until.IsZero() {
		t.Errorf("the inbox shows the canary %+v", c)
	}
	got := b.canaries(change, 1, good)
	if got.Version != 2 || !strings.HasPrefix(got.Canary, "promoted: it passed 10 of 10 trials") {
		t.Fatalf("after 10 outcomes: %+v", got)
	}
	if body := b.column(
		"select body from skill_versions where version = 2",
	); !strings.Contains(
		body,
		"Make the image",
	) {
		t.Errorf("version 2 is %s", body)
	}
	if got := b.column("select concat_ws(' ', trials, passes) from skills"); got != "15 13" {
		t.Errorf("trials and passes %s, want those of both versions", got)
	}
	if n := b.number("select count(*) from skill_uses where version = 2 and change_id is null"); n != 10 {
		t.Errorf("%d uses count for version 2", n)
	}
	if got := b.column("select object from audit_events where action = 'change.approve'"); !strings.Contains(got,
		"canary promoted") {
		t.Errorf("the audit log has %q", got)
	}
	if _, text := b.works("after"); !strings.Contains(text, "Make the image") {
		t.Errorf("a later conversation reads %s", text)
	}
	if waiting := b.changes(); len(waiting) > 0 {
		t.Errorf("the inbox still has %+v", waiting)
	}
}

func TestACanaryThatDoesWorseIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.trusted(id, good, good, good, good, good, good, good)
	change := b.canary(id)
	for range 3 { // never three failures in a row
		b.canaries(change, 2, good)
		b.canaries(change, 1, bad)
	}
	got := b.canaries(change, 1, bad)
	if got.Version != 1 || !strings.HasPrefix(got.Canary, "rejected: it passed 6 of 10 trials") {
		t.Fatalf("after 10 outcomes: %+v", got)
	}
	if got := b.column(
		"select concat_ws(' ', version, trials, passes) from skills join skill_versions v on v.skill_id = id",
	); got != "1 7 7" {
		t.Errorf("version, trials and passes: %s", got)
	}
	if waiting := b.changes(); len(waiting) > 0 {
		t.Errorf("the inbox still has %+v", waiting)
	}
}

func TestACanaryThatFailsThreeTimesInARowStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.trusted(id, good, good, good, good, good)
	change := b.canary(id)
	got := b.canaries(change, 3, bad)
	if got.Version != 1 || got.Status != skill.Active || !strings.HasPrefix(got.Canary, "stopped: ") {
		t.Fatalf("after 3 failures: %+v", got)
	}
	for i := range 20 {
		if _, text := b.works(fmt.Sprint("after-", i)); strings.Contains(text, "Make the image") {
			t.Fatalf("a later conversation reads %s", text)
		}
	}
	if waiting := b.changes(); len(waiting) != 1 || waiting[0].Canary {
		t.Errorf("the inbox has %+v", waiting)
	}
}

func TestACanaryWithoutADecisionWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.trusted(id, good, bad, good, good, good)
	change := b.canary(id)
	b.canaries(change, 2, good)
	b.exec("update pending_writes set canary_until = canary_until - interval '14 days', created_at = created_at - " +
		"interval '14 days'")
	for i := range 20 {
		if _, text := b.works(fmt.Sprint("after-", i)); strings.Contains(text, "Make the image") {
			t.Fatalf("a later conversation reads %s", text)
		}
	}
	p, err := b.PendingChange(t.Context(), b.ws.ID, change)
	testkit.Must(t, err)
	if p.Canary != nil || p.Change.CanaryUntil.IsZero() || p.Change.State != "pending" {
		t.Fatalf("the inbox has %+v", p)
	}
	head, err := b.ApproveChange(t.Context(), b.ws.ID, change, approval.Decision{SHA: p.SHA})
	testkit.Must(t, err)
	if n := b.number("select count(*) from skill_uses where version = 2 and change_id is null"); n != 2 ||
		head.Version != 2 {
		t.Errorf("version %d with %d of its uses", head.Version, n)
	}
}

func TestAPersonDecidesAboutACanary(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deployed(0)
	b.trusted(id, good, bad, good, good, good)
	change := b.canary(id)
	b.canaries(change, 1, good)
	testkit.Must(t, b.RejectChange(t.Context(), b.ws.ID, change))
	for i := range 20 {
		if _, text := b.works(fmt.Sprint("after-", i)); strings.Contains(text, "Make the image") {
			t.Fatalf("a conversation reads the rejected canary: %s", text)
		}
	}
	user := agent.Actor{Workspace: b.ws.ID, Origin: agent.OriginUser}
	b.does(user, "skill_patch", patchOf("Build", "Bake"), "patched", 2)
	b.talk("next", id, 2)
	effects := b.states("key/1", "next", bad)
	if len(effects) != 1 || effects[0].Canary != "" || effects[0].Version != 2 {
		t.Errorf("an outcome after the decision: %+v", effects)
	}
}

// A run that has read a canary changes the version in force, whose text it must quote.
func TestAPatchChangesTheVersionInForceAndNotTheCanary(t *testing.T) {
	t.Parallel()
	b := setup(t)
	change := b.canary(b.deployed(0))
	a := b.conversing("first")
	for i := 0; !review.ShownIn(a.Conversation, change); i++ {
		a = b.conversing(fmt.Sprint("talk-", i))
	}
	view := b.call(a, "skill_view", object{"name": "deploy-web"})
	if view["canary"] != true || view["version"] != float64(2) {
		t.Fatalf("it reads %v", view)
	}
	files := b.call(a, "load_skills", object{"skill_names": []string{"deploy-web"}})
	if !strings.Contains(fmt.Sprint(files), "Make the image") {
		t.Errorf("it loads %v", files)
	}
	b.refused(a, "skill_patch", patchOf("Make", "Bake"), fault.NoMatch)
	first := b.call(a, "skill_view", object{"name": "deploy-web", "version": 1})
	if first["canary"] == true || !strings.Contains(fmt.Sprint(first["content"]), "Build the image") {
		t.Errorf("version 1 is %v", first)
	}
	b.does(a, "skill_patch", patchOf("Build", "Bake"), "patched", 2)
}
