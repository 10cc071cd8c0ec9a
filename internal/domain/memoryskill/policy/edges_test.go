package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
)

var masked = math.Inf(-1)

// A logit of −∞ masks its skill: it is not chosen, has probability 0, and does not affect the
// others.
func TestAMaskedSkillIsAsIfItWereNotThere(t *testing.T) {
	t.Parallel()
	z := []float64{1.2, masked, 0.7, masked, -1.5}
	rest := []float64{1.2, 0.7, -1.5}
	p, others := Softmax(z), Softmax(rest)
	nearAll(t, "p", p, []float64{others[0], 0, others[1], 0, others[2]})
	near(t, "entropy", Entropy(z), Entropy(rest))
	near(t, "log π", LogProb(z, []int{2, 4}), LogProb(rest, []int{1, 2}))
	near(t, "log π of a set", LogProbSet(z, []int{2, 4}), LogProbSet(rest, []int{1, 2}))
	if got := TopK(z, 5); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("the top five are %v", got)
	}
	ids := []string{"a", "b", "c", "d", "e"}
	for i := range 200 {
		if got := SampleTopK(z, ids, 5, keyedrand.Key{Iteration: i}); len(got) != 3 || slices.Contains(got, 1) ||
			slices.Contains(got, 3) {
			t.Fatalf("drawn %v", got)
		}
	}
	for name, chosen := range map[string][]int{"masked": {1}, "masked after another": {0, 3}, "twice": {0, 0},
		"below": {-1}, "beyond": {5}} {
		if got := LogProb(z, chosen); !math.IsInf(got, -1) {
			t.Errorf("%s: log π = %v", name, got)
		}
		if got := LogProbSet(z, chosen); !math.IsInf(got, -1) {
			t.Errorf("%s: log π of the set = %v", name, got)
		}
	}
}

func TestNothingCanBeChosenWhenAllIsMaskedOrEmpty(t *testing.T) {
	t.Parallel()
	for _, z := range [][]float64{nil, {masked}, {masked, masked, masked}} {
		for i, p := range Softmax(z) {
			if p != 0 {
				t.Errorf("%v: p[%d] = %v", z, i, p)
			}
		}
		if h := Entropy(z); h != 0 {
			t.Errorf("%v: entropy %v", z, h)
		}
		if got := TopK(z, 3); len(got) != 0 {
			t.Errorf("%v: the top three are %v", z, got)
		}
		if got := SampleTopK(z, make([]string, len(z)), 3, keyedrand.Key{}); len(got) != 0 {
			t.Errorf("%v: drawn %v", z, got)
		}
		if got := LogProb(z, nil); got != 0 {
			t.Errorf("%v: drawing nothing has log-probability %v", z, got)
		}
		if got := LogProb(z, []int{0}); !math.IsInf(got, -1) {
			t.Errorf("%v: log π = %v", z, got)
		}
		if d := Diagnose(z, nil); d != (Diagnostics{}) {
			t.Errorf("%v: %+v", z, d)
		}
		if delta := DefaultExploration().Bias(z, slices.Repeat([]bool{true}, len(z)), 0); delta != 0 {
			t.Errorf("%v: δ = %v", z, delta)
		}
	}
	if got := TopK([]float64{1, math.NaN(), 2}, -1); len(got) != 0 {
		t.Errorf("fewer than none: %v", got)
	}
	if got := TopK([]float64{1, math.NaN(), 2}, 3); !slices.Equal(got, []int{2, 0}) {
		t.Errorf("with what is no number: %v", got)
	}
}

// Probabilities are exact for logits of any size.
func TestHugeLogitsNeitherOverflowNorVanish(t *testing.T) {
	t.Parallel()
	for _, scale := range []float64{1e-300, 1, 1e3, 1e300} {
		z := []float64{scale, -scale, 0, scale}
		p := Softmax(z)
		sum := 0.0
		for _, x := range p {
			if math.IsNaN(x) {
				t.Errorf("scale %v: p = %v", scale, p)
			}
			sum += x
		}
		near(t, "Σp", sum, 1)
		if got := LogProb(z, []int{0, 3, 2, 1}); math.IsNaN(got) || got > 0 {
			t.Errorf("scale %v: log π = %v", scale, got)
		}
		if h := Entropy(z); !(h >= 0 && h <= math.Log(4)+tolerance) {
			t.Errorf("scale %v: entropy %v", scale, h)
		}
	}
	near(t, "a tie of two among many that are hopeless", LogProb([]float64{1e3, 1e3, 0, 0}, []int{1, 0}), -math.Ln2)
}

// All orders of choosing all of n have a total probability of 1, also for K beyond n.
func TestOrdersOfAllSkillsSumToOne(t *testing.T) {
	t.Parallel()
	for _, z := range [][]float64{{0}, {0, 0}, {3, -2, 0.5, 0.5}, {-700, 0, 700}} {
		sum := 0.0
		orders(len(z), len(z), func(chosen []int) { sum += math.Exp(LogProb(z, chosen)) })
		near(t, fmt.Sprint(z), sum, 1)
		all := make([]int, len(z))
		for i := range all {
			all[i] = i
		}
		near(t, fmt.Sprintf("%v as a set", z), LogProbSet(z, all), 0)
	}
}

// The bias depends on the selectable skills, and is between 0 and its maximum.
func TestBiasAtItsLimits(t *testing.T) {
	t.Parallel()
	of := func(target float64) Exploration { return Exploration{Target: target, Window: 10, MaxBias: 2} }
	for name, c := range map[string]struct {
		e     Exploration
		z     []float64
		fresh []bool
		t     int
		want  float64
	}{
		"the known ones are masked":     {of(.3), []float64{1, masked}, []bool{true, false}, 0, 0},
		"the new ones are masked":       {of(.3), []float64{1, masked}, []bool{false, true}, 0, 0},
		"marks of the first skill only": {of(.5), []float64{0, 1}, []bool{true}, 0, 1},
		"marks beyond the skills":       {of(.5), []float64{0, 1}, []bool{true, false, true}, 0, 1},
		"a target of all":               {of(1), []float64{0, 0}, []bool{true, false}, 0, 2},
		"a target beyond all":           {of(7), []float64{0, 0}, []bool{true, false}, 0, 2},
		"a target of nothing":           {of(0), []float64{0, 0}, []bool{true, false}, 0, 0},
		"a target below nothing":        {of(-1), []float64{0, 0}, []bool{true, false}, 0, 0},
		"before they came":              {of(.5), []float64{0, 1}, []bool{true, false}, -5, 1},
	} {
		if got := c.e.Bias(c.z, c.fresh, c.t); math.Abs(got-c.want) > tolerance {
			t.Errorf("%s: δ = %v, want %v", name, got, c.want)
		}
	}
}

// At a low temperature only the nearest memories have weight, equally if they are equally near. At
// a high temperature every memory has the same weight.
func TestMemoriesAreWeighedAtTheLimitsOfTemperature(t *testing.T) {
	t.Parallel()
	span := []float64{1, 0}
	memories := [][]float64{{2, 0}, {3, 0}, {0, 5}, {0, 0}}
	for name, c := range map[string]struct {
		temperature float64
		want        []float64
	}{
		"zero": {0, []float64{1, 0, 2.5, 0}}, "below zero": {-3, []float64{1, 0, 2.5, 0}},
		"tiny":    {1e-300, []float64{1, 0, 2.5, 0}},
		"endless": {math.Inf(1), []float64{1, 0, 1.25, 1.25}},
	} {
		nearAll(t, name, StateBySimilarity(span, memories, c.temperature), c.want)
	}
	nearAll(t, "a span of zeros", StateBySimilarity([]float64{0, 0}, memories, 1), []float64{0, 0, 1.25, 1.25})
	nearAll(t, "no memories", StateBySimilarity(span, nil, 1), []float64{1, 0, 0, 0})
}

func TestRewardsOfNothingAreNothing(t *testing.T) {
	t.Parallel()
	if got := Redistribute(1, -2); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := Process(Effect{Selected: []string{"insert"}, Emitted: []string{"insert"}}, 0); math.IsInf(got, 0) ||
		math.IsNaN(got) {
		t.Errorf("a trace without spans: %v", got)
	}
	if a, r := GAE(nil, nil, nil, .99, .95); len(a) != 0 || len(r) != 0 {
		t.Errorf("%v %v", a, r)
	}
	p := DefaultPPO()
	for name, spoil := range map[string]func(*PPO){"gamma": func(p *PPO) {
		p.Gamma = math.NaN()
	}, "lambda": func(p *PPO) { p.Lambda = math.NaN() }, "entropy": func(p *PPO) {
		p.EntropyCoef = math.Inf(1)
	}, "rate": func(p *PPO) { p.LearningRate = math.NaN() }} {
		spoilt := p
		spoil(&spoilt)
		if spoilt.Check() == nil {
			t.Errorf("%s is no number, and was taken", name)
		}
	}
}
