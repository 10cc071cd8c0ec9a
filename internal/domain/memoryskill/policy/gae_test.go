package policy

import (
	"math"
	"testing"
)

func TestGAEStopsAtTheEndOfAnEpisode(t *testing.T) {
	t.Parallel()
	const g, l = .9, .5
	advantages, returns := GAE([]float64{1, 0, 2, -1}, []float64{.5, .4, .3, .2}, []bool{false, false, true, true}, g,
		l)
	// Computed by hand, from the end of each episode.
	last := 2 - .3
	second := 0 + g*.3 - .4 + g*l*last
	first := 1 + g*.4 - .5 + g*l*second
	nearAll(t, "advantages", advantages, []float64{first, second, last, -1 - .2})
	nearAll(t, "returns", returns, []float64{first + .5, second + .4, last + .3, -1})
}

func TestGAEWithoutBiasOrVarianceCutsIsTheReturn(t *testing.T) {
	t.Parallel()
	_, returns := GAE([]float64{1, 2, 4}, []float64{7, -3, 5}, []bool{false, false, true}, 1, 1)
	nearAll(t, "returns", returns, []float64{7, 6, 4})
}

func TestAdvantagesAreNormalizedOverWhatIsCredited(t *testing.T) {
	t.Parallel()
	advantages := []float64{3, 100, 1, 5}
	normalize(advantages, []bool{true, false, true, true})
	deviation := math.Sqrt(8. / 3)
	nearAll(t, "advantages", advantages, []float64{0, 0, -2 / deviation, 2 / deviation})
	same := []float64{.2, .2}
	normalize(same, []bool{true, true})
	nearAll(t, "equal advantages", same, []float64{0, 0})
}

func TestAdamTakesItsFirstSteps(t *testing.T) {
	t.Parallel()
	weights := []float64{1, -1, 0}
	a := Adam{}.step(weights, []float64{.5, -2, 0}, .1)
	// The first step has the size of the learning rate, against the sign of the gradient.
	nearAll(t, "after one", weights, []float64{.9, -.9, 0})
	a = a.step(weights, []float64{-.5, -2, 0}, .1)
	first, second := .9*.05-.05, .999*.00025+.00025
	move := .1 * (first / .19) / math.Sqrt(second/(1-.998001))
	nearAll(t, "after two", weights, []float64{.9 - move, -.8, 0})
	if a.Steps() != 2 {
		t.Errorf("%d steps", a.Steps())
	}
}
