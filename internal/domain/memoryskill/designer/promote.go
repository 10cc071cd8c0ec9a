package designer

import (
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Gate decides whether a candidate replaces the incumbent, from their scores on the same held-out
// traces.
type Gate struct {
	Margin     float64 // how far the lower bound may be below 0
	Confidence float64 // of the one-sided lower bound, 0–1
	Resamples  int     // of the bootstrap
	Seed       string
}

// MinTraces is the minimum number of held-out traces of a promotion. With fewer, the bound says
// little.
const MinTraces = 8

// PromotionGate requires 95 % confidence that the candidate is better.
func PromotionGate() Gate { return Gate{Confidence: 0.95, Resamples: 10_000, Seed: "42"} }

// DefaultGate requires 95 % confidence that the candidate is at most 0.02 worse. It stops what is
// harmful before a canary, and edits in simulations.
func DefaultGate() Gate { return Gate{Margin: 0.02, Confidence: 0.95, Resamples: 10_000, Seed: "42"} }

// Comparison is the result of a paired evaluation.
type Comparison struct {
	Mean    float64 `json:"mean"`  // of candidate − incumbent
	Lower   float64 `json:"lower"` // lower bound of the mean
	Traces  int     `json:"traces"`
	Promote bool    `json:"promote"`
}

// Compare resamples the differences of paired scores (percentile bootstrap, Efron 1979). The
// candidate is promoted if its mean is better and its lower bound is above −Margin. Both slices
// have one score for each trace, in the same order.
func (g Gate) Compare(candidate, incumbent []float64) (Comparison, error) {
	n := len(candidate)
	if n == 0 || n != len(incumbent) {
		return Comparison{}, fault.Newf(fault.InvalidArgument, "cannot pair %d scores with %d scores", n,
			len(incumbent))
	}
	if err := g.check(); err != nil {
		return Comparison{}, err
	}
	differences := make([]float64, n)
	for i := range differences {
		differences[i] = candidate[i] - incumbent[i]
	}
	stream := keyedrand.Key{Run: g.Seed, Purpose: "bootstrap"}.Stream()
	means := make([]float64, g.Resamples)
	for i := range means {
		sum := 0.0
		for range n {
			sum += differences[stream.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	c := Comparison{Mean: mean(differences), Lower: means[int((1-g.Confidence)*float64(g.Resamples))], Traces: n}
	c.Promote = c.Mean > 0 && c.Lower > -g.Margin
	return c, nil
}

func (g Gate) check() error {
	if g.Resamples < 1 || !(g.Confidence > 0 && g.Confidence < 1) {
		return fault.Newf(
			fault.InvalidArgument,
			"invalid gate: %d resamples at confidence %v",
			g.Resamples,
			g.Confidence,
		)
	}
	return nil
}

// CanaryGate requires 90 % confidence that live outcomes are better. They are few, and each is 0 or
// 1.
func CanaryGate() Gate { return Gate{Confidence: 0.9, Resamples: 10_000, Seed: "42"} }

// CompareArms compares unpaired scores, such as those of live choices. Each side is resampled
// separately. The candidate is promoted if the lower bound of the difference of means is above
// −Margin. Traces is the number of its scores.
func (g Gate) CompareArms(candidate, incumbent []float64) (Comparison, error) {
	if len(candidate) == 0 || len(incumbent) == 0 {
		return Comparison{}, fault.Newf(
			fault.InvalidArgument,
			"cannot compare %d scores with %d scores",
			len(candidate),
			len(incumbent),
		)
	}
	if err := g.check(); err != nil {
		return Comparison{}, err
	}
	stream := keyedrand.Key{Run: g.Seed, Purpose: "bootstrap"}.Stream()
	again := func(scores []float64) (sum float64) {
		for range scores {
			sum += scores[stream.IntN(len(scores))]
		}
		return sum / float64(len(scores))
	}
	means := make([]float64, g.Resamples)
	for i := range means {
		means[i] = again(candidate) - again(incumbent)
	}
	slices.Sort(means)
	c := Comparison{Mean: mean(candidate) - mean(incumbent), Lower: means[int((1-g.Confidence)*float64(g.Resamples))],
		Traces: len(candidate)}
	c.Promote = c.Lower > -g.Margin
	return c, nil
}
