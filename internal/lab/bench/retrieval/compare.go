package retrieval

import (
	"math/rand/v2"
	"slices"

	"cairn/internal/domain/fault"
)

// Comparison is the difference of the scores of the questions that two runs share.
type Comparison struct {
	Questions int     `json:"questions"`
	Delta     float64 `json:"delta"` // mean score of the run, less that of the baseline
	// The interval of Delta that contains 95 % of the resampled differences.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Better int     `json:"better"` // questions with a higher score
	Worse  int     `json:"worse"`
	// Whether both have the same data, and the same settings and embedder.
	SameData     bool `json:"same_data"`
	SameSettings bool `json:"same_settings"`
}

const resamples = 2000

// Compare compares the questions of two runs in pairs (bootstrap with a fixed seed).
func Compare(run, baseline Report) (Comparison, error) {
	c := Comparison{
		SameData:     run.DataHash == baseline.DataHash,
		SameSettings: run.SettingsHash == baseline.SettingsHash,
	}
	before := map[string]float64{}
	for _, q := range baseline.Ranks {
		before[q.ID] = q.Score
	}
	var deltas []float64
	for _, q := range run.Ranks {
		was, known := before[q.ID]
		if !known {
			continue
		}
		deltas = append(deltas, q.Score-was)
		if q.Score > was {
			c.Better++
		} else if q.Score < was {
			c.Worse++
		}
	}
	if len(deltas) == 0 {
		return c, fault.New(fault.InvalidArgument, "the baseline has no question of this run",
			"use the JSON output of the same suite on the same data")
	}
	mean := func(pick func(i int) float64) float64 {
		sum := 0.0
		for i := range deltas {
			sum += pick(i)
		}
		return rounded(sum / float64(len(deltas)))
	}
	c.Questions, c.Delta = len(deltas), mean(func(i int) float64 { return deltas[i] })
	random := rand.New(rand.NewPCG(1, uint64(len(deltas))))
	means := make([]float64, resamples)
	for n := range means {
		means[n] = mean(func(int) float64 { return deltas[random.IntN(len(deltas))] })
	}
	slices.Sort(means)
	c.Low, c.High = means[resamples/40], means[resamples-1-resamples/40]
	return c, nil
}
