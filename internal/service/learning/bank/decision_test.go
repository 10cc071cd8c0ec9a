package bank_test

import (
	"context"
	"slices"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestAnAnswerCitesWhatItTakesWordsFrom(t *testing.T) {
	t.Parallel()
	uses := []learning.MemoryUse{{Memory: "m1", Decision: "9/0", Content: "The greenhouse has nine lemon trees."},
		{Memory: "m2", Decision: "9/1", Content: "The cellar key hangs by the door."},
		{Memory: "m3", Content: "Nobody chose this."}}
	for what, c := range map[string]struct {
		question, answer string
		want             []string
	}{
		"by its words":            {"How many lemon trees?", "There are nine.", []string{"9/0"}},
		"by its id":               {"Where?", "See m2", []string{"9/1"}},
		"words of the question":   {"lemon trees?", "lemon trees", []string{"9/0", "9/1"}},
		"none: all that is shown": {"What?", "I do not know", []string{"9/0", "9/1"}},
	} {
		if got := bank.Cited(uses, c.question, c.answer); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// chosen stores a decision of a build with its run.
func chosen(t *testing.T, l *pgtest.Learning) (d learning.Decision) {
	t.Helper()
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, Spec: l.Spec(),
		Messages: pgtest.Dialogue("The greenhouse has nine lemon trees."), Keeping: bank.DefaultSpanOptions()})
	testkit.Must(t, err)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		head, err := l.Banks.ReadHead(ctx, tx, "default")
		testkit.Must(t, err)
		skill := head.Bank.Versions()[0].ID
		d = learning.Decision{ID: bank.DecisionID(r.Ref, 0), Run: r.Ref.Run, Conversation: r.Conversation,
			Bank:    head.ID,
			Version: 1, Choice: learning.Choice{Decision: policy.Decision{ID: bank.DecisionID(r.Ref, 0),
				Candidates: []string{skill}, Chosen: []string{skill}}}}
		return tx.Decisions().PutDecision(ctx, d)
	}))
	return d
}

func TestTheFirstOutcomeOfASpanStays(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	d := chosen(t, l)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		for _, o := range []executor.Outcome{executor.OK, executor.LLMError} {
			testkit.Must(t, tx.Decisions().EndDecision(ctx, d.ID, learning.SpanOutcome{Outcome: o}))
		}
		got, found, err := tx.Decisions().DecisionAt(ctx, d.ID)
		if err != nil || !found || !got.Answered() || got.Outcome.Outcome != executor.OK {
			t.Errorf("%+v, %v", got, err)
		}
		_, found, err = tx.Decisions().DecisionAt(ctx, "none")
		if err != nil || found || d.Answered() {
			t.Errorf("a decision that there is not: %v, %v", found, err)
		}
		return nil
	}))
}

func TestAJudgementOfNoRunChangesNothing(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	d := chosen(t, l)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		none, err := bank.RecordJudgement(ctx, tx, bank.Judgement{Op: "1", Score: 1})
		if err != nil || len(none) != 0 {
			t.Errorf("scored %q, %v", none, err)
		}
		_, err = bank.RecordJudgement(ctx, tx, bank.Judgement{Op: "1", Run: "run_00000000000000000000000000"})
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a run that there is not: %v", err)
		}
		_, err = bank.RecordJudgement(ctx, tx, bank.Judgement{Op: "1", Run: d.Run}) // it was shown nothing
		return err
	}))
	if n := l.DB.Number("select count(*) from skill_stats"); n != 0 {
		t.Errorf("%d statistics", n)
	}
}

func TestUseAndScoresCountForSkills(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	d := chosen(t, l)
	var stats map[string]memoryskill.Stats
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		testkit.Must(t, bank.CountUse(ctx, tx, d.Bank, []learning.Decision{d})) // not ended: not counted
		d.Outcome = &learning.SpanOutcome{Outcome: executor.OK}
		testkit.Must(t, bank.CountUse(ctx, tx, d.Bank, []learning.Decision{d}))
		testkit.Must(t, bank.CountScore(ctx, tx, []string{d.ID, d.ID, "", "erased"}, 1))
		testkit.Must(t, tx.Outcomes().PutOutcomes(ctx, []string{d.ID, "erased"},
			learning.Outcome{Op: "1", Run: d.Run, Source: learning.FromPraise, Score: 1}))
		testkit.Must(t, tx.Outcomes().PutOutcomes(ctx, []string{d.ID},
			learning.Outcome{Op: "1", Run: d.Run, Source: learning.FromPraise, Score: 0}))
		outcomes, err := tx.Outcomes().Outcomes(ctx, []string{d.ID})
		if err != nil || len(outcomes) != 1 || outcomes[0].Score != 1 {
			t.Errorf("%+v, %v", outcomes, err)
		}
		if stats, err = tx.Banks().SkillStats(ctx, d.Bank); err != nil {
			return err
		}
		testkit.Must(t, bank.RetractJudgement(ctx, tx, "1", []string{d.ID, "erased"}, 1))
		outcomes, err = tx.Outcomes().Outcomes(ctx, []string{d.ID})
		if err != nil || len(outcomes) != 0 {
			t.Errorf("taken back: %+v, %v", outcomes, err)
		}
		after, err := tx.Banks().SkillStats(ctx, d.Bank)
		if one := after[d.Choice.Chosen[0]]; one.Count != 0 || one.Usage == 0 {
			t.Errorf("taken back: %+v", one)
		}
		return err
	}))
	one := stats[d.Choice.Chosen[0]]
	if len(stats) == 0 || one.Count != 1 {
		t.Errorf("%+v", stats)
	}
}
