package speed_test

import (
	"testing"

	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// The goals of tokens are those of section 6 of the design of distillation.
func TestDistillationStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	measure(t, func(s speed.Sample) bool { return s.Size < speed.TokenContext/3 })
}

func TestLongConversationsStayWithinTheirBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	measure(t, func(s speed.Sample) bool { return s.Size >= speed.TokenContext/3 })
}

func measure(t *testing.T, fits func(speed.Sample) bool) {
	t.Helper()
	lab := speed.TokenLab{Store: pgtest.Open(t).Store, Log: t.Output()}
	var rows []speed.TokenRow
	for _, s := range speed.Samples() {
		if !fits(s) {
			continue
		}
		row, err := lab.Measure(t.Context(), s)
		testkit.Must(t, err)
		rows = append(rows, row)
	}
	testkit.Must(t, speed.PrintTokens(t.Output(), rows))
	if err := speed.Missed(rows); err != nil {
		t.Error(err)
	}
}
