package train_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/testkit"
)

const trees = `{"summary": "capture trees", "changes": [{"action": "add_new", "name": null, "changes": null,
"reasoning": "lost", "skill": {"name": "capture_trees", "title": "Capture trees", "purpose": "Keep them.",
"description": "Adds what the span says of trees and jam.", "when_to_use": ["The span is about trees"],
"how_to_apply": ["One fact in one item"], "constraints": ["Ignore greetings"], "action": "insert"}}]}`

func evolutionWants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func evolutionRequest(l *pgtest.Learning) train.EvolutionRequest {
	r := train.EvolutionRequest{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key,
		EvolutionSpec: train.EvolutionSpec{RunSpec: l.Spec()}}
	r.Keeping.Tokens = 24
	return r
}

// fails records a failed question.
func fails(l *pgtest.Learning) {
	l.DB.T.Helper()
	_, err := l.Cases.RecordFailure(l.DB.T.Context(), l.DB.A.ID,
		bank.FailedQuestion{Op: "1", Source: bank.FromFeedback,
			Question: "Which tree did Vera plant?", Gold: []string{"lemon tree"}})
	testkit.Must(l.DB.T, err)
}

// designs scripts a designer whose new skill extracts a memory that was missed before.
func designs(l *pgtest.Learning) {
	l.Script.Say(prompt.Diagnose, `{"failure_patterns": [], "recommendations": [], "summary": "trees are lost"}`)
	l.Script.Say(prompt.Propose, trees)
	l.Script.On(prompt.Remember, func(m prompt.Material) (string, error) {
		for _, s := range m.Bank {
			if s.Name == "capture_trees" {
				return pgtest.InsertAll(m)
			}
		}
		return `{"actions": []}`, nil
	})
}

func TestEachStepOfARoundIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	l.Import(3 * designer.MinTraces)
	fails(l)
	designs(l)
	r, err := l.Rounds.Accept(ctx, evolutionRequest(l))
	testkit.Must(t, err)
	if p, err := l.Rounds.Progress(ctx, r.Ref); err != nil || p.Doing != "waiting for a worker" {
		t.Errorf("%+v, %v", p, err)
	}
	for range 2 {
		over, err := l.Rounds.Open(ctx, r.Ref)
		if err != nil || over != nil {
			t.Fatalf("%+v, %v", over, err)
		}
		if n, err := l.Rounds.Mine(ctx, r.Ref); err != nil || n != 1 {
			t.Fatalf("%d cases, %v", n, err)
		}
		if n, err := l.Rounds.Design(ctx, r.Ref); err != nil || n != designer.MinTraces {
			t.Fatalf("%d trials, %v", n, err)
		}
		for n := range designer.MinTraces {
			testkit.Must(t, l.Rounds.PlayTrial(ctx, r.Ref, n))
		}
	}
	evolutionWants(t, "a trial that there is not", l.Rounds.PlayTrial(ctx, r.Ref, designer.MinTraces),
		fault.InvalidArgument)
	if p, err := l.Rounds.Progress(ctx, r.Ref); err != nil || p.Done != p.Of || p.Of != 2+designer.MinTraces {
		t.Errorf("%+v, %v", p, err)
	}
	for range 2 {
		got, err := l.Rounds.Close(ctx, r.Ref, "", "")
		if err != nil || got.Outcome != learning.Promoted || got.Comparison == nil || got.Comparison.Mean <= 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if over, err := l.Rounds.Open(ctx, r.Ref); err != nil || over == nil || over.Outcome != learning.Promoted {
		t.Errorf("%+v, %v", over, err)
	}
	head, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	if _, there := head.Bank.Get("capture_trees"); !there || head.Head != 2 {
		t.Errorf("version %d", head.Head)
	}
}

func TestARoundNeedsCasesAndATurn(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	bad := evolutionRequest(l)
	bad.Keeping.Mode = "sentence"
	_, err := l.Rounds.Accept(ctx, bad)
	evolutionWants(t, "a way to cut that there is not", err, fault.InvalidArgument)
	bad = evolutionRequest(l)
	bad.Bank = "other"
	_, err = l.Rounds.Accept(ctx, bad)
	evolutionWants(t, "a bank that there is not", err, fault.NotFound)
	first, err := l.Rounds.Accept(ctx, evolutionRequest(l))
	testkit.Must(t, err)
	if again, err := l.Rounds.Accept(ctx, evolutionRequest(l)); err != nil || again.Ref != first.Ref {
		t.Errorf("%v, then %v, %v", first.Ref, again.Ref, err)
	}
	other := evolutionRequest(l)
	other.ID = "other"
	second, err := l.Rounds.Accept(ctx, other)
	testkit.Must(t, err)
	_, err = l.Rounds.Open(ctx, first.Ref)
	testkit.Must(t, err)
	_, err = l.Rounds.Open(ctx, second.Ref)
	evolutionWants(t, "a bank with another writer", err, fault.Unavailable)
	if n, err := l.Rounds.Mine(ctx, first.Ref); err != nil || n != 0 {
		t.Errorf("%d cases, %v", n, err)
	}
	got, err := l.Rounds.Close(ctx, first.Ref, "", "")
	if err != nil || got.Outcome != train.NoCases {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = l.Rounds.Open(ctx, l.Ref("run_00000000000000000000000000"))
	evolutionWants(t, "a run that there is not", err, fault.NotFound)
}

func TestARoundIsDueWhenEnoughHasFailed(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	fails(l)
	due := bank.Due{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key, Spec: l.Spec(), Least: 1}
	none, err := l.Rounds.AcceptDue(t.Context(), due)
	if err != nil || len(none) != 0 {
		t.Errorf("where agents remember: %v, %v", none, err)
	}
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	due.Least = 2
	none, err = l.Rounds.AcceptDue(t.Context(), due)
	if err != nil || len(none) != 0 {
		t.Errorf("too few: %v, %v", none, err)
	}
	due.Least = 1
	started, err := l.Rounds.AcceptDue(t.Context(), due)
	if err != nil || len(started) != 1 || started[0].Kind != run.Evolve {
		t.Fatalf("%v, %v", started, err)
	}
	_, err = l.Rounds.Open(t.Context(), started[0].Ref)
	testkit.Must(t, err)
	if again, err := l.Rounds.AcceptDue(t.Context(), due); err != nil || len(again) != 0 {
		t.Errorf("under way: %v, %v", again, err)
	}
}

// A bank that is frozen during a round stays as it is, and no round is due.
func TestARoundOfAFrozenBankChangesNothing(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	l.Import(3 * designer.MinTraces)
	fails(l)
	designs(l)
	r, err := l.Rounds.Accept(ctx, evolutionRequest(l))
	testkit.Must(t, err)
	_, err = l.Rounds.Open(ctx, r.Ref)
	testkit.Must(t, err)
	_, err = l.Rounds.Mine(ctx, r.Ref)
	testkit.Must(t, err)
	trials, err := l.Rounds.Design(ctx, r.Ref)
	testkit.Must(t, err)
	for n := range trials {
		testkit.Must(t, l.Rounds.PlayTrial(ctx, r.Ref, n))
	}
	_, err = l.Banks.Freeze(ctx, l.DB.A.ID, bank.Default, true)
	testkit.Must(t, err)
	got, err := l.Rounds.Close(ctx, r.Ref, "", "")
	if err != nil || got.Outcome != learning.Rejected || !strings.Contains(got.Note, "frozen") {
		t.Errorf("%+v, %v", got, err)
	}
	if head, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default); err != nil || head.Head != 1 {
		t.Errorf("version %d, %v", head.Head, err)
	}
}
