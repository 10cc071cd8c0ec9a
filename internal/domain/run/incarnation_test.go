package run_test

import (
	"slices"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
)

// Every workflow of a workspace belongs to the incarnation of the workspace's key.
func TestOfWorkflow(t *testing.T) {
	t.Parallel()
	const base = "w0123456789abcdef"
	for key, want := range map[string]int{base: 1, "i2/" + base: 2, "i31/" + base: 31} {
		for _, id := range []string{
			contract.ConversationID(key, 7), contract.TurnID(key, 7, "m-1", 1), contract.NudgeID(key, 7, 3),
			contract.DistillID(key, "request", 2, 3), contract.SummarizeID(key, "r", 1),
			contract.RetrieveID(key, "r", 1), contract.SpecialistID(key, "run_5", "personal", "Ada", 1, 1),
			contract.ReflectionID(key, "2026-11-25"), contract.CurateID(key, "slot"), contract.OffloadID(key, "r", 1),
			contract.BuildID(key, "trace", 1), contract.TrainID(key, "bank", "k"), contract.EvolveID(key, "bank", "k"),
			contract.AdaptID(key, "bank", "k", 1), contract.ProbeID(key, "run_4"), contract.ReembedID(key, 3),
			contract.EraseID(key, 0), contract.EraseID(key, 7),
		} {
			if got := run.IncarnationOfWorkflow(id); got != want {
				t.Errorf("%s belongs to %d, not %d", id, got, want)
			}
		}
		if got := run.IncarnationBase(key); got != base {
			t.Errorf("the base of %s is %s", key, got)
		}
	}
	for _, id := range []string{"", contract.SweepSchedule, contract.SweepSchedule + "-workflow-2026-11-25T10:00:00Z",
		"eval/w1", "turn/w0123456789abcdefg/1"} {
		if got := run.IncarnationOfWorkflow(id); got != 0 {
			t.Errorf("%q belongs to %d", id, got)
		}
	}
}

func TestKeysAreThoseOfAllIncarnations(t *testing.T) {
	t.Parallel()
	if got := run.IncarnationKeys("i3/w0123456789abcdef"); !slices.Equal(got,
		[]string{"i3/w0123456789abcdef", "i2/w0123456789abcdef", "w0123456789abcdef"}) {
		t.Errorf("the keys are %v", got)
	}
	if got := run.IncarnationKeys("w0123456789abcdef"); !slices.Equal(got, []string{"w0123456789abcdef"}) {
		t.Errorf("the keys are %v", got)
	}
}
