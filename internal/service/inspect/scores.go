package inspect

import (
	"context"
	"math"
	"time"
)

// Score summarizes the scores of the decisions of a bank on one local day.
type Score struct {
	Day    string  `json:"day" doc:"Local date"`
	Canary bool    `json:"canary" doc:"True for decisions of policies on trial, false for those of the active policy"`
	N      int64   `json:"n" doc:"Number of scores"`
	Mean   float64 `json:"mean" doc:"0 to 1"`
	Low    float64 `json:"low" doc:"Lower end of the 95 % confidence interval of the mean"`
	High   float64 `json:"high" doc:"Upper end"`
}

// scoreDays is the number of days of a curve.
const scoreDays = 90

// Scores returns the scores of the decisions of a bank by local day, the earliest first.
func (s *Service) Scores(ctx context.Context, ws int64, bank string, zone *time.Location) ([]Score, error) {
	rows, err := s.Store.ExploreScores(ctx, ws, bank, zone.String(), time.Now().AddDate(0, 0, -scoreDays))
	out := []Score{}
	for _, r := range rows {
		half := 0.0 // of the interval
		if r.N > 1 {
			half = 1.96 * r.Deviation / math.Sqrt(float64(r.N))
		}
		out = append(out, Score{Day: r.Day, Canary: r.Canary, N: r.N, Mean: r.Mean, Low: max(r.Mean-half, 0),
			High: min(r.Mean+half, 1)})
	}
	return out, err
}
