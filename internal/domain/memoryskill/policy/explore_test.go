package policy

import (
	"math"
	"slices"
	"testing"
)

var (
	biasLogits = []float64{2, 1, .5, -1, 0}
	lastTwoNew = []bool{false, false, false, true, true}
)

// newMass returns the probability of the new skills after the bias.
func newMass(bias float64) (float64, []float64) {
	z := slices.Clone(biasLogits)
	addBias(z, lastTwoNew, bias)
	p := Softmax(z)
	return p[3] + p[4], p
}

func TestExactBiasReachesTheTarget(t *testing.T) {
	t.Parallel()
	before, _ := newMass(0)
	near(t, "p_new", before, .104227814)
	near(t, "δ_max", DefaultMaxBias, 3.747821990)
	e := DefaultExploration()
	delta := e.Bias(biasLogits, lastTwoNew, 0)
	near(t, "δ", delta, 1.303809236)
	mass, p := newMass(delta)
	near(t, "mass", mass, .3)
	nearAll(t, "p", p, []float64{.439972203, .161856728, .098171068, .080682426, .219317574})

	delta = e.Bias(biasLogits, lastTwoNew, 10)
	near(t, "δ at 10", delta, .998427587)
	mass, _ = newMass(delta)
	near(t, "mass at 10", mass, .24)
}

func TestRatioBiasIsTheReferencePrograms(t *testing.T) {
	t.Parallel()
	e := Exploration{Form: RatioBias, Target: .3, Window: 25, MaxBias: DefaultMaxBias}
	delta := e.Bias(biasLogits, lastTwoNew, 0)
	near(t, "δ", delta, 1.057203352)
	mass, _ := newMass(delta)
	near(t, "mass", mass, .250883891)
	delta = e.Bias(biasLogits, lastTwoNew, 10)
	near(t, "δ at 10", delta, .634322011)
	mass, _ = newMass(delta)
	near(t, "mass at 10", mass, .179935420)
}

func TestNoBiasWhereNoneIsNeeded(t *testing.T) {
	t.Parallel()
	e, low := DefaultExploration(), DefaultExploration()
	low.Target = .05
	all, none := slices.Repeat([]bool{true}, 5), make([]bool, 5)
	for name, delta := range map[string]float64{
		"often enough":       low.Bias(biasLogits, lastTwoNew, 0),
		"all are new":        e.Bias(biasLogits, all, 0),
		"none is new":        e.Bias(biasLogits, none, 0),
		"nothing is marked":  e.Bias(biasLogits, nil, 0),
		"the window is over": e.Bias(biasLogits, lastTwoNew, 50),
		"nothing was set":    Exploration{}.Bias(biasLogits, lastTwoNew, 0),
		"ratio, often enough": Exploration{Form: RatioBias, Target: .05, Window: 25, MaxBias: 9}.Bias(biasLogits,
			lastTwoNew, 0),
	} {
		if delta != 0 {
			t.Errorf("%s: δ = %v", name, delta)
		}
	}
	if delta := e.Bias([]float64{500, 0}, []bool{false, true}, 0); math.Abs(delta-DefaultMaxBias) > tolerance {
		t.Errorf("a hopeless new skill gets %v, not the cap", delta)
	}
}
