package tokenbench_test

import (
	"testing"

	"cairn/internal/lab/bench/tokenbench"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// The goals of tokens are those of section 6 of the design of distillation.
func TestDistillationStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	measure(t, func(s tokenbench.Sample) bool { return s.Size < tokenbench.Context/3 })
}

func TestLongConversationsStayWithinTheirBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	measure(t, func(s tokenbench.Sample) bool { return s.Size >= tokenbench.Context/3 })
}

func measure(t *testing.T, fits func(tokenbench.Sample) bool) {
	t.Helper()
	lab := tokenbench.Lab{Store: pgtest.Open(t).Store, Log: t.Output()}
	var rows []tokenbench.Row
	for _, s := range tokenbench.Samples() {
		if !fits(s) {
			continue
		}
		row, err := lab.Measure(t.Context(), s)
		testkit.Must(t, err)
		rows = append(rows, row)
	}
	testkit.Must(t, tokenbench.Print(t.Output(), rows))
	if err := tokenbench.Missed(rows); err != nil {
		t.Error(err)
	}
}
