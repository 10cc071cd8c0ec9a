package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/feedback"
	"cairn/internal/service/inbox"
	"cairn/internal/service/learning/bank"
	trainer "cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func evolveOnce(b *apptest.Bundle, change ...func(*trainer.EvolutionSpec)) (out learning.Round, r run.Run) {
	b.T.Helper()
	spec := trainer.EvolutionSpec{RunSpec: app.EvolveSpec(b.Config)}
	spec.Keeping = bank.DefaultSpanOptions()
	spec.Keeping.Tokens, spec.Keeping.Overlap, spec.Keeping.K = 24, 0, 30 // all skills
	for _, f := range change {
		f(&spec)
	}
	r, err := b.Learning.Rounds.Accept(b.T.Context(),
		trainer.EvolutionRequest{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, EvolutionSpec: spec})
	testkit.Must(b.T, err)
	testkit.Eventually(b.T, "the round ends", func() (over bool) {
		b.Within(func(ctx context.Context, q store.Tx) error {
			now, err := q.Runs().Run(ctx, r.Ref.Run)
			if err == nil && now.Status == run.Ended {
				over, err = true, json.Unmarshal(now.Result, &out)
			}
			return err
		})
		return over
	})
	return out, r
}

// enough is the number of lessons of which enough are held out for a promotion.
const enough = 3 * designer.MinTraces

// failing imports traces, as many as a promotion needs or as given, and rates an answer to a
// question of the first one as bad.
func failing(b *apptest.Bundle, n ...int) {
	b.T.Helper()
	traces := lessons(append(n, enough)[0])
	_, err := b.Learning.Cases.Import(b.T.Context(), b.Workspace.ID, "", traces)
	testkit.Must(b.T, err)
	_, err = b.Learning.Cases.RecordFailure(b.T.Context(), b.Workspace.ID,
		bank.FailedQuestion{Op: "1", Source: bank.FromFeedback, Question: "Which tree did Vera plant?",
			Gold: []string{"lemon tree"}})
	testkit.Must(b.T, err)
}

// designs scripts a designer whose skill captures trees, and a keeper that inserts what the
// chosen skills request. If helps is true, it inserts trees only with that skill, otherwise only
// without it.
func designs(b *apptest.Bundle, helps bool) {
	b.Model.On(openaitest.Rule{Stage: "diagnose",
		Reply: `{"failure_patterns": [], "recommendations": [], "summary": "trees are lost"}`})
	b.Model.On(openaitest.Rule{Stage: "propose", Reply: `{"summary": "capture trees", "changes": [{"action": ` +
		`"add_new", "name": null, "changes": null, "reasoning": "lost", "skill": {"name": "capture_trees", "title": ` +
		`"Capture trees",
"description": "Adds what the span tells of trees and jam.", "purpose": "Keep them.", "when_to_use": ["The span ` +
		`tells of trees"], "how_to_apply": ["One fact in one item"], "constraints": ["Ignore greetings"], "action": ` +
		`"insert"}}]}`})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: func(c openaitest.Call) string {
		m, err := prompt.ReadMaterial(c.Messages[1].Content)
		if err != nil {
			return err.Error()
		}
		captures := false
		for _, s := range m.Bank {
			captures = captures || s.Name == "capture_trees"
		}
		actions := []any{}
		for _, said := range m.Messages {
			if captures == helps {
				actions = append(actions, map[string]any{"type": "insert", "content": said.Content, "about": "Vera",
					"evidence": []int{said.Index}})
			}
		}
		raw, _ := json.Marshal(map[string]any{"actions": actions})
		return string(raw)
	}})
}

// A candidate that answers more held-out questions becomes active, with the policy that chose
// from it.
func TestABetterBankIsPromoted(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	designs(b, true)
	failing(b)
	got, r := evolveOnce(b)
	if got.Outcome != learning.Promoted || got.Comparison == nil || got.Comparison.Mean <= 0 ||
		got.Comparison.Traces != designer.MinTraces || len(got.Cases) != 1 || got.Comparison.Lower <= 0 ||
		got.Comparison.All.Lower <= 0 || got.Comparison.Fixed.Lower <= 0 {
		t.Fatalf("%+v %+v", got, got.Comparison)
	}
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	if _, there := head.Bank.Get("capture_trees"); !there || head.Version.Action != bank.ActionEvolve ||
		head.Head != 2 {
		t.Errorf("in force: %+v", head.Version)
	}
	b.Record(r.WorkflowID, "Evolve/promoted")

	// An export states how the bank was made, also after the retention of runs.
	exec(b, "select cairn.prune_calls('0 s', 10000), cairn.prune_runs('0 s', 10000)")
	_, files, err := b.Learning.Banks.Export(t.Context(), b.Workspace.ID, bank.Default, 0)
	testkit.Must(t, err)
	var packed bank.Package
	testkit.Must(t, json.Unmarshal(files[bank.PackageFile], &packed))
	if made := string(packed.Provenance.History[0].Options); !strings.Contains(made, `"name": "scripted"`) {
		t.Errorf("options of the round: %s", made)
	}

	// One rollback reverts both bank and policy.
	back, err := b.Learning.Banks.Rollback(t.Context(), b.Workspace.ID, bank.Default, 1)
	testkit.Must(t, err)
	first, err := b.Learning.Banks.At(t.Context(), b.Workspace.ID, bank.Default, 1)
	testkit.Must(t, err)
	if _, there := back.Bank.Get("capture_trees"); there || back.Snapshot() != first.Snapshot() {
		t.Errorf("after the rollback: %+v", back.Version)
	}
}

// Seven held-out conversations decide nothing, however much better the candidate is on them.
func TestSevenConversationsAreNotEnoughEvidence(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	designs(b, true)
	failing(b, 3*designer.MinTraces-3)
	got, _ := evolveOnce(b)
	if got.Outcome != trainer.NotEnough || got.Comparison == nil || got.Comparison.Traces != 7 ||
		got.Comparison.Lower <= 0 || got.Comparison.Promote || !strings.Contains(got.Note, "at least 8") {
		t.Errorf("%+v %+v", got, got.Comparison)
	}
	if head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default); err != nil || head.Head != 1 {
		t.Errorf("version %d, %v", head.Head, err)
	}
}

// A worker that dies during a trial, after creating the candidate, promotes it once and pays no
// call twice. Chinese cases get a Chinese designer prompt.
func TestARoundSurvivesACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Times: 1, Barrier: "trial", Drop: true})
	designs(b, true)
	failing(b)
	exec(b, "update cairn.cases set question = '维拉在棚子后面种了哪一种树？' where failures > 0")
	worker := b.StartProcess()
	round := make(chan learning.Round, 1)
	go func() { out, _ := evolveOnce(b); round <- out }()
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "trial", 1))
	worker.Kill()
	b.Model.Release("trial")
	b.StartProcess()
	if got := <-round; got.Outcome != learning.Promoted || got.Number != 1 {
		t.Errorf("%+v", got)
	}
	if n := count(b, "select count(*) from cairn.bank_versions"); n != 2 {
		t.Errorf("%d versions, want the seed and one that was promoted", n)
	}
	if n := count(b, "select count(*) from cairn.evolution_rounds"); n != 1 {
		t.Errorf("%d rounds", n)
	}
	asked := map[string]int{}
	for _, c := range b.Model.Requests() {
		if c.Stage == "diagnose" || c.Stage == "propose" {
			asked[c.Stage]++
			if !strings.Contains(c.Messages[0].Content, "的") {
				t.Errorf("%s is told in English: %.60q", c.Stage, c.Messages[0].Content)
			}
		}
	}
	if asked["diagnose"] != 3 || asked["propose"] != 1 {
		t.Errorf("asked %v", asked)
	}
}

// A candidate that is not better changes nothing and is recorded as tried.
func TestAWorseBankIsRejected(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	designs(b, false)
	failing(b)
	got, r := evolveOnce(b)
	if got.Outcome != learning.Rejected || got.Comparison.Mean >= 0 {
		t.Fatalf("%+v", got)
	}
	if head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default); err != nil || head.Head != 1 ||
		head.Bank.Len() != 10 {
		t.Errorf("version %d, %v", head.Head, err)
	}
	b.Record(r.WorkflowID, "Evolve/rejected")
	evolveOnce(b)
	told := false
	for _, c := range b.Model.Requests() {
		if c.Stage == "propose" {
			m, err := prompt.ReadMaterial(c.Messages[1].Content)
			testkit.Must(t, err)
			told = told || len(m.Failed) == 1 && m.Failed[0] == "added capture_trees"
		}
	}
	if !told {
		t.Error("the second round was not told what the first had tried")
	}
}

func TestARoundWithoutCasesChangesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	got, _ := evolveOnce(b)
	if got.Outcome != trainer.NoCases || len(b.Model.Requests()) != 0 {
		t.Errorf("%+v", got)
	}
}

// If learning is frozen, a round that started before activates no bank. A round that a user
// requests does.
func TestAFrozenBankEvolvesOnlyWhenAskedTo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	designs(b, true)
	failing(b)
	setLearning(b, `{"frozen":true}`)
	started, err := b.Learning.Rounds.AcceptDue(t.Context(),
		bank.Due{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: app.EvolveSpec(b.Config)})
	if err != nil || len(started) != 0 {
		t.Errorf("%d rounds are due, %v", len(started), err)
	}
	if got, _ := evolveOnce(b, func(s *trainer.EvolutionSpec) { s.Due = true }); got.Outcome != learning.Rejected ||
		got.Comparison == nil || !got.Comparison.Promote {
		t.Errorf("a round that was under way: %+v", got)
	}
	if got, _ := evolveOnce(b); got.Outcome != learning.Promoted {
		t.Errorf("a round that was asked for: %+v", got)
	}
}

// In a workspace with few voters, what an automatic round proposes waits for the owner. With five
// voters it is promoted.
func TestAnAutomaticRoundWaitsWhereFewVote(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	due := func(s *trainer.EvolutionSpec) { s.Due = true }
	for _, c := range []struct {
		voters  int
		approve bool
		version int
		outcome string
	}{{5, false, 2, learning.Promoted}, {4, true, 2, learning.Promoted}, {4, false, 1, learning.Rejected}} {
		b := apptest.Open(t)
		designs(b, true)
		failing(b)
		for i := range c.voters {
			_, err := b.Feedback.Note(votes(t, fmt.Sprint(i+1)), b.Workspace.ID, fmt.Sprint(i),
				feedback.Input{Rating: feedback.Bad, Question: "Which tree did Vera plant?"})
			testkit.Must(t, err)
		}
		got, _ := evolveOnce(b, due)
		if c.voters == 5 {
			if got.Outcome != learning.Promoted {
				t.Errorf("five voters: %+v", got)
			}
			continue
		}
		if got.Outcome != trainer.Waiting || !strings.Contains(got.Note, "4 of 5 voters") {
			t.Fatalf("four voters: %+v", got)
		}
		items, err := b.ReviewInbox.List(t.Context(), agent.Actor{Workspace: b.Workspace.ID}, 10)
		if err != nil || len(items) != 1 || items[0].ID != "r1" {
			t.Fatalf("%+v, %v", items, err)
		}
		shown, err := b.ReviewInbox.Show(t.Context(), agent.Actor{Workspace: b.Workspace.ID}, "r1")
		if err != nil || !strings.Contains(shown.Diff, "added capture_trees") {
			t.Errorf("%+v, %v", shown, err)
		}
		decide := b.ReviewInbox.Reject
		if c.approve {
			decide = func(ctx context.Context, a agent.Actor, id string) (inbox.Outcome, error) {
				return b.ReviewInbox.Approve(ctx, a, id, approval.Decision{SHA: shown.SHA})
			}
		}
		_, err = decide(t.Context(), agent.Actor{Workspace: b.Workspace.ID}, "r1")
		testkit.Must(t, err)
		head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
		if now := column[string](b, "select outcome from cairn.evolution_rounds")[0]; err != nil ||
			head.Head != c.version || now != c.outcome {
			t.Errorf("version %d, outcome %s, %v", head.Head, now, err)
		}
	}
}
