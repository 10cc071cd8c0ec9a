package evaluation

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a mean with its 95 % t-interval.
type Interval struct {
	Mean          float64 `json:"mean"`
	Low           float64 `json:"low"`
	High          float64 `json:"high"`
	Conversations int     `json:"conversations"`
}

// Versus are the differences of a row from the row static, paired by conversation. An interval needs two
// conversations.
type Versus struct {
	Conversations int       `json:"conversations"`
	F1Difference  float64   `json:"f1_difference"`
	F1            *Interval `json:"f1,omitempty"`
	Exact         *Interval `json:"exact_match,omitempty"`
	Judge         *Interval `json:"judge,omitempty"`
	Evidence      *Interval `json:"evidence_recall,omitempty"`
}

// interval returns the t-interval of the mean of values, nil for fewer than two.
func interval(values []float64) *Interval {
	n := float64(len(values))
	if n < 2 {
		return nil
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
	return &Interval{Mean: mean, Low: mean - half, High: mean + half, Conversations: len(values)}
}

// versus compares two rows on the conversations that both have.
func versus(row, base []Scores) *Versus {
	other := map[string]Scores{}
	for _, s := range base {
		other[s.Name] = s
	}
	var f1, exact, judge, evidence []float64
	for _, s := range row {
		o, found := other[s.Name]
		if !found {
			continue
		}
		f1, exact = append(f1, s.F1-o.F1), append(exact, s.Exact-o.Exact)
		if s.Judge != nil && o.Judge != nil {
			judge = append(judge, *s.Judge-*o.Judge)
		}
		if s.Evidence != nil && o.Evidence != nil {
			evidence = append(evidence, *s.Evidence-*o.Evidence)
		}
	}
	if len(f1) == 0 {
		return nil
	}
	return &Versus{Conversations: len(f1), F1Difference: stat.Mean(f1, nil), F1: interval(f1), Exact: interval(exact),
		Judge: interval(judge), Evidence: interval(evidence)}
}
