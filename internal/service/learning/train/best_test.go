package train_test

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// A training for an evaluation holds nothing out, promotes nothing, and leaves its best version to read.
func TestATrainingForAnEvaluationUsesAllConversations(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	l.Import(2)
	r, err := l.Trainings.AcceptSplit(ctx, request(l))
	testkit.Must(t, err)
	_, err = l.Trainings.Best(ctx, r.Ref)
	wants(t, "the best of no stage", err, fault.NotFound)
	spec, _, err := l.Trainings.Open(ctx, r.Ref)
	if err != nil || len(spec.Traces) != 2 || len(spec.Held) != 0 {
		t.Fatalf("%+v, %v", spec, err)
	}
	for e := range spec.Episodes {
		testkit.Must(t, l.Trainings.PlayEpisode(ctx, r.Ref, 0, 0, e))
	}
	learned, err := l.Trainings.Learn(ctx, r.Ref, 0, 0)
	testkit.Must(t, err)
	_, err = l.Trainings.CloseStage(ctx, r.Ref, 0)
	testkit.Must(t, err)
	for range 2 { // also after the end
		best, err := l.Trainings.Best(ctx, r.Ref)
		if err != nil || best.Policy.Hash() != learned.Policy || best.Bank.Len() == 0 {
			t.Errorf("%+v, %v", best, err)
		}
		got, err := l.Trainings.Close(ctx, r.Ref, "", "")
		if err != nil || got.Outcome != run.Completed || got.Version != 0 || got.Gate != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
