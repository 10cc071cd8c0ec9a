package memoryskill_test

import (
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill"
)

// A forgotten score leaves the statistics as if it had not been observed.
func TestAScoreCanBeForgotten(t *testing.T) {
	t.Parallel()
	want := memoryskill.Stats{Usage: .5}
	got := want
	for i, score := range []float64{1, 0, 1, 0, .25} {
		if got = got.Observe(score); i != 3 {
			want = want.Observe(score)
		}
	}
	got = got.Forget(0)
	if got.Count != want.Count || math.Abs(got.Mean-want.Mean) > 1e-12 ||
		!slices.Equal(got.Recent, []float64{1, 0, 1, .25}) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range 9 {
		got = got.Forget(1)
	}
	if got.Count != 0 || got.Mean != 0 || len(got.Recent) != 0 || got.Usage != .5 {
		t.Errorf("all forgotten: %+v", got)
	}
}
