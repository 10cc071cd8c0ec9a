package policy

import (
	"math"

	"cairn/internal/domain/fault"
)

// Logged is a drawn choice whose outcome is known.
type Logged struct {
	Decision
	Score float64 // mean score of the replies from its memories, 0–1
}

// Propensity is a Chooser that knows how probable a choice is.
type Propensity interface {
	Chooser
	// LogPropensity returns the log-probability with which it draws the skills of a decision, in any
	// order, with the exploration bias of that decision.
	LogPropensity(d Decision, candidates []Candidate) (float64, error)
}

// Estimate is an off-policy estimate: what a chooser would have scored on the spans of logged
// choices.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Effective is the effective sample size: the number of choices of the chooser itself that would
	// be as informative. It is small if the chooser would rarely have made the logged choices.
	Effective float64 `json:"effective"`
}

// EstimateFrom estimates the mean score of a chooser that draws its choices. Each logged choice has
// the importance weight w = π(A|s) / π_logged(A|s), from the probability that was stored with it.
// The mean is self-normalised, Σ w·r / Σ w (Swaminathan and Joachims 2015), and the effective
// sample size is (Σ w)² / Σ w² (Kish 1965). It is 0 for a chooser that is no Propensity. vectors has
// the vector of every candidate by ID.
func EstimateFrom(c Chooser, logged []Logged, vectors map[string][]float64) (out Estimate, err error) {
	known, ok := c.(Propensity)
	if !ok {
		return out, nil
	}
	logs := make([]float64, len(logged))
	top := math.Inf(-1)
	for i, d := range logged {
		if d.Greedy {
			return out, fault.Newf(fault.InvalidArgument, "decision %q was greedy: it has no probability", d.ID)
		}
		now, err := known.LogPropensity(d.Decision, candidatesOf(d.Decision, vectors))
		if err != nil {
			return out, err
		}
		logs[i] = now - math.Log(d.Propensity())
		top = max(top, logs[i])
	}
	if len(logged) == 0 || math.IsInf(top, 0) || math.IsNaN(top) {
		return out, nil
	}
	var sum, squares float64
	for i, d := range logged {
		w := math.Exp(logs[i] - top) // a common factor changes neither result
		sum, squares, out.Mean = sum+w, squares+w*w, out.Mean+w*d.Score
	}
	out.Mean, out.Effective = out.Mean/sum, sum*sum/squares
	return out, nil
}

// LogPropensity returns the log-probability of a draw of the same skills. Beyond 16 skills, it is that of the same
// order, as Decision.Propensity is.
func (p Policy) LogPropensity(d Decision, candidates []Candidate) (float64, error) {
	z, err := p.biased(d, candidates)
	if err != nil {
		return 0, err
	}
	chosen, err := d.indices(d.Chosen)
	if err != nil {
		return 0, err
	}
	if len(chosen) > maxSet {
		return LogProb(z, chosen), nil
	}
	return LogProbSet(z, chosen), nil
}

// biased returns the logits of the candidates of a decision, with its exploration bias.
func (p Policy) biased(d Decision, candidates []Candidate) ([]float64, error) {
	s, err := p.Scorer(candidates)
	if err != nil {
		return nil, err
	}
	z, _, err := s.Score(d.State)
	if err != nil {
		return nil, err
	}
	marked, err := d.indices(d.Fresh)
	if err != nil {
		return nil, err
	}
	fresh := make([]bool, len(z))
	for _, i := range marked {
		fresh[i] = true
	}
	addBias(z, fresh, d.Bias)
	return z, nil
}

// candidatesOf returns the candidates of a decision with their vectors.
func candidatesOf(d Decision, vectors map[string][]float64) []Candidate {
	out := make([]Candidate, len(d.Candidates))
	for i, id := range d.Candidates {
		out[i] = Candidate{ID: id, Vector: vectors[id]}
	}
	return out
}
