package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/learning/bank"
	trainer "cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// lessons returns traces of small talk with one fact each.
func lessons(n int) (out []bank.ImportedTrace) {
	plants := []string{"lemon", "walnut", "cherry", "juniper", "hazel", "willow", "maple", "quince", "medlar"}
	for i := range n {
		plant := plants[i%len(plants)]
		t := bank.ImportedTrace{ID: fmt.Sprintf("t%d", i)}
		for d, line := range []string{"Hello! How are you today?",
			fmt.Sprintf("I planted a %s tree behind the shed in March %d.", plant, 2000+i), "Thanks, that is nice!",
			fmt.Sprintf("My sister prefers %s jam.", plant)} {
			t.Messages = append(t.Messages, transcript.Message{Role: transcript.User, Name: "Vera", Content: line,
				Time: time.Date(2024, 3, 1+d, 9, 0, 0, 0, time.UTC)})
		}
		t.Questions = []bank.ImportedQuestion{
			{Question: fmt.Sprintf("Which tree was planted behind the shed in %d?", 2000+i),
				Answers: []string{plant + " tree"}, Evidence: []int{1}},
			{Question: "Who prefers " + plant + " jam?", Answers: []string{"sister"}, Evidence: []int{3}}}
		out = append(out, t)
	}
	return out
}

func offlineRules(c *config.Config) { c.Model, c.BaseURL, c.APIKey = "", "", "" }

// train starts a short training.
func train(b *apptest.Bundle, change ...func(*trainer.Request)) run.Run {
	b.T.Helper()
	_, err := b.Learning.Cases.Import(b.T.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(b.T, err)
	r := trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
		Spec: trainer.Spec{RunSpec: app.EvolveSpec(b.Config), Stages: 2, Iterations: 2, Episodes: 3, Parallel: 3,
			Design: true}}
	r.Keeping.Tokens = 24
	for _, f := range change {
		f(&r)
	}
	out, err := b.Learning.Trainings.Accept(b.T.Context(), r)
	testkit.Must(b.T, err)
	return out
}

func trainedTo(b *apptest.Bundle, ref run.Ref) (out learning.TrainingResult) {
	b.T.Helper()
	testkit.Eventually(b.T, "the training ends", func() (over bool) {
		b.Within(func(ctx context.Context, q store.Tx) error {
			r, err := q.Runs().Run(ctx, ref.Run)
			if err == nil && r.Status == run.Ended {
				over, err = true, json.Unmarshal(r.Result, &out)
			}
			return err
		})
		return over
	})
	return out
}

// The same training gives the same policy, whether its episodes run in sequence or concurrently,
// and even if its worker is killed.
func TestATrainingRepeatsItselfToTheLastBit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	want, known := trainedAlone(t)
	t.Run("many episodes at once", func(t *testing.T) {
		t.Parallel()
		trainedManyAtOnce(t, want, known)
	})
	t.Run("a worker that is killed", func(t *testing.T) {
		t.Parallel()
		trainedUnderKills(t, want)
	})
}

// skillStats returns the statistics of skills.
func skillStats(b *apptest.Bundle) []string {
	return column[string](b, "select skill_id || ' ' || stats::text from cairn.skill_stats order by skill_id")
}

// trainedAlone returns the result of a training whose episodes run in sequence, and the skill
// statistics after it.
func trainedAlone(t *testing.T) (learning.TrainingResult, []string) {
	t.Helper()
	alone := apptest.Open(t, offlineRules)
	r := train(alone, func(r *trainer.Request) { r.Parallel = 1 })
	want := trainedTo(alone, r.Ref)
	if want.Outcome != run.Completed || want.Version != 0 || want.Verdict != trainer.NotEnough ||
		want.Iterations != 4 ||
		want.Stages != 2 ||
		len(want.Rewards) != 4 {
		t.Fatalf("%+v", want)
	}
	head, err := alone.Learning.Banks.Head(t.Context(), alone.Workspace.ID, "")
	if err == nil {
		t.Errorf("a bank without a name: version %d", head.Head)
	}
	head, err = alone.Learning.Banks.Head(t.Context(), alone.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	first, err := alone.Learning.Banks.At(t.Context(), alone.Workspace.ID, bank.Default, 1)
	testkit.Must(t, err)
	if head.Head != 1 || want.Policy == "" || want.Policy == first.Version.Policy {
		t.Errorf("in force: %+v, trained %.12s", head.Version, want.Policy)
	}
	known := skillStats(alone)
	if len(known) == 0 {
		t.Error("nothing is known of how the skills have done")
	}
	alone.Record(r.WorkflowID, "Train/completed")
	alone.Record(r.WorkflowID+"/stage-1", "TrainStage/completed")
	alone.Record(r.WorkflowID+"/stage-1/iteration-1", "TrainIteration/completed")
	alone.Record(r.WorkflowID+"/stage-1/iteration-1/episode-1", "TrainEpisode/completed")

	// Erasing a conversation erases its training data. Bank and policy contain no text of it and
	// stay.
	lemon := []string{"select count(*) from cairn.cases where question ~ 'lemon' or array_to_string(gold, ' ') ~ " +
		"'lemon'", "select count(*) from cairn.llm_calls where " + requestOf + " ~ 'lemon'",
		"select count(*) from cairn.training_steps where conversation_id is not null and result::text ~ 'lemon'",
		"select count(*) from cairn.messages where content ~ 'lemon'"}
	if count(alone, lemon[0]) == 0 || count(alone, lemon[1]) == 0 {
		t.Fatal("there is nothing to erase")
	}
	taught := column[int64](alone, "select conversation_id from cairn.cases where array_to_string(gold, ' ') ~ "+
		"'lemon' limit 1")[0]
	erased(alone, erasure.Target{Workspace: alone.Workspace.ID, Conversation: taught, Derived: erasure.Delete})
	for _, query := range lemon {
		if n := count(alone, query); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
	if now, err := alone.Learning.Banks.Head(t.Context(), alone.Workspace.ID, bank.Default); err != nil ||
		now.Snapshot() != head.Snapshot() {
		t.Errorf("after the erase: %v, %v", now.Version, err)
	}
	if left := skillStats(alone); !slices.Equal(left, known) {
		t.Errorf("after the erase statistics of skills are %v, before %v", left, known)
	}
	return want, known
}

// trainedManyAtOnce checks that a training with concurrent episodes has the same result.
func trainedManyAtOnce(t *testing.T, want learning.TrainingResult, known []string) {
	t.Helper()
	many := apptest.Open(t, offlineRules)
	if got := trainedTo(many, train(many, func(r *trainer.Request) { r.Parallel = 16 }).
		Ref); got.Policy != want.Policy || got.Best != want.Best {
		t.Errorf("16 at once: policy %.12s, alone %.12s", got.Policy, want.Policy)
	}
	if got := skillStats(many); !slices.Equal(got, known) {
		t.Errorf("statistics of skills differ: %v, alone %v", got, known)
	}
}

// trainedUnderKills checks that a training whose worker is killed twice has the same result.
func trainedUnderKills(t *testing.T, want learning.TrainingResult) {
	t.Helper()
	b := apptest.OpenIdle(t, offlineRules)
	worker := b.StartProcess()
	r := train(b)
	for _, steps := range []int{2, 6} { // in the middle of the first iteration, and of a later one
		testkit.Eventually(t, fmt.Sprintf("%d steps are done", steps), func() bool {
			return count(b, "select count(*) from cairn.training_steps") >= steps ||
				count(b, "select count(*) from cairn.runs where status = 'ended'") > 0
		})
		worker.Kill()
		worker = b.StartProcess()
	}
	got := trainedTo(b, r.Ref)
	if got.Outcome != run.Completed || got.Policy != want.Policy || got.Best != want.Best ||
		fmt.Sprint(got.Rewards) != fmt.Sprint(want.Rewards) {
		t.Errorf("killed twice: %+v\nleft alone: %+v", got, want)
	}
	if n := count(b, "select count(*) from cairn.policies"); n > 12 {
		t.Errorf("%d sets of weights are kept", n)
	}
}
