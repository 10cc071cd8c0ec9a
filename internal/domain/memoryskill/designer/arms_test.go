package designer

import (
	"slices"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// scores returns n scores, of which good are 1.
func scores(n, good int) []float64 {
	return append(slices.Repeat([]float64{1}, good), make([]float64, n-good)...)
}

func TestOnlyACandidateThatIsBetterLivePasses(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		candidate, incumbent []float64
		promote              bool
	}{
		"better":                    {scores(20, 18), scores(20, 12), true},
		"alike, and sure":           {scores(20, 20), scores(40, 40), false},
		"alike, and few":            {scores(20, 14), scores(20, 14), false},
		"alike, and many":           {scores(200, 140), scores(400, 280), false},
		"a little worse, and many":  {scores(2000, 1380), scores(2000, 1400), false},
		"a little better, and many": {scores(2000, 1500), scores(2000, 1400), true},
		"worse":                     {scores(20, 8), scores(20, 14), false},
		"one score a side, equal":   {scores(1, 1), scores(1, 1), false},
		"much worse, of many":       {scores(500, 250), scores(500, 400), false},
		"better, with few of other": {scores(40, 39), scores(20, 12), true},
	} {
		got, err := CanaryGate().CompareArms(c.candidate, c.incumbent)
		if err != nil || got.Promote != c.promote || got.Lower > got.Mean {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if again, _ := CanaryGate().CompareArms(c.candidate, c.incumbent); again != got {
			t.Errorf("%s: %+v, then %+v", name, got, again)
		}
	}
	for _, none := range [][2][]float64{{nil, {1}}, {{1}, nil}} {
		if _, err := CanaryGate().CompareArms(none[0], none[1]); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("nothing to compare: %v", err)
		}
	}
	if _, err := (Gate{}).CompareArms([]float64{1}, []float64{1}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a gate without resamples: %v", err)
	}
}
