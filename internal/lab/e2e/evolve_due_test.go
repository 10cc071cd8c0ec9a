package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/feedback"
	"cairn/internal/service/schedule"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func evolutions(b *apptest.Bundle) int {
	b.T.Helper()
	return count(b, "select count(*) from cairn.runs where kind = 'evolve'")
}

func withSkills(b *apptest.Bundle) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"memory":{"builder":"skills","skills":{"k":4}}}`))
		return err
	})
}

// If there is no new failure, the night starts no round. Neither does it if agents build the
// memories.
func TestABankEvolvesInTheNightAfterAFailure(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	night := func(id, outcome string, rounds int) {
		t.Helper()
		fired, err := b.Schedules.Trigger(t.Context(), b.Workspace.ID, b.Workspace.Key, "nightly-evolution", id)
		testkit.Must(t, err)
		if n := evolutions(b); fired.Outcome != outcome || n != rounds {
			t.Errorf("night %s: %s (%s), %d rounds; want %s and %d", id, fired.Outcome, fired.Reason, n, outcome,
				rounds)
		}
	}
	fail := func(op string) {
		t.Helper()
		_, err := b.Feedback.Note(t.Context(), b.Workspace.ID, op,
			feedback.Input{Rating: feedback.Bad, Question: "Where does Vera live?"})
		testkit.Must(t, err)
	}
	fail("1")
	night("agents build", scheduled.Empty, 0)
	withSkills(b)
	night("1", schedule.Started, 1)
	night("1, again", schedule.Started, 1) // the round has not begun: it is the same one
	var id string
	b.Within(func(ctx context.Context, q store.Tx) error {
		runs, err := q.Runs().Runs(ctx, 10)
		for _, r := range runs {
			if r.Kind == run.Evolve {
				id = r.Ref.Run
			}
		}
		return err
	})
	ref := run.Ref{Workspace: b.Workspace.ID, Run: id}
	_, err := b.Learning.Rounds.Open(t.Context(), ref)
	testkit.Must(t, err)
	fail("2")
	night("while it runs", scheduled.Empty, 1)
	b.Within(func(ctx context.Context, q store.Tx) error {
		return q.Runs().EndRun(ctx, id, run.Completed, "", map[string]any{})
	})
	night("2", schedule.Started, 2)
	exec(b, "update cairn.cases set state = 'resolved'")
	exec(b, "delete from cairn.outbox")
	night("nothing is open", scheduled.Empty, 2)
}

// The sweep only checks banks and starts nothing: most workspaces have no failed question.
func TestTheSweepPassesOverBanksThatNothingFailed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	withSkills(b)
	sweep := func(claim string) (outcome string) {
		t.Helper()
		exec(b, "update cairn.scheduled_tasks set due_at = now() - interval '1 second', due_date = current_date, "+
			"due_key = '"+claim+"', lease_until = null where kind = 'evolution'")
		_, err := b.Sweeper.Page(t.Context(), contract.SweepPageInput{Claim: claim})
		testkit.Must(t, err)
		task, err := b.Schedules.Get(t.Context(), b.Workspace.ID, "nightly-evolution")
		testkit.Must(t, err)
		if task.Last == nil {
			t.Fatalf("%+v", task)
		}
		return task.Last.Outcome
	}
	if got := sweep("one"); got != scheduled.Empty || evolutions(b) != 0 {
		t.Errorf("without a failure: %s, %d rounds", got, evolutions(b))
	}
	_, err := b.Feedback.Note(t.Context(), b.Workspace.ID, "1",
		feedback.Input{Rating: feedback.Bad, Question: "Where does Vera live?"})
	testkit.Must(t, err)
	if got := sweep("two"); got != schedule.Started || evolutions(b) != 1 {
		t.Errorf("after one: %s, %d rounds", got, evolutions(b))
	}
}

// Many failures within a day start a round before the night.
func TestManyFailuresStartARoundAtOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	withSkills(b)
	for n := 1; n <= 21; n++ {
		_, err := b.Feedback.Note(t.Context(), b.Workspace.ID, fmt.Sprint(n),
			feedback.Input{Rating: feedback.Bad, Question: fmt.Sprintf("Which tree did Vera plant in %d?", n)})
		testkit.Must(t, err)
		want := 0
		if n >= 20 {
			want = 1
		}
		if got := evolutions(b); got != want {
			t.Fatalf("after %d failures there are %d rounds, want %d", n, got, want)
		}
	}
}
