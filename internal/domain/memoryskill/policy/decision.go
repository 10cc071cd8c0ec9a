package policy

import (
	"fmt"
	"math"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Decision is one choice of skills for one span, with the data to audit it and to learn from it
// later. Skills are identified by version ID, never by index. Their vectors are not stored, because
// they belong to the bank version.
type Decision struct {
	ID         string    `json:"id"`              // the memories that it led to refer to it
	Policy     string    `json:"policy"`          // hash of the policy
	Bank       string    `json:"bank"`            // hash of the bank of the candidates
	State      []float64 `json:"state"`           // span ‖ memories, 2·D
	Candidates []string  `json:"candidates"`      // ascending
	Logits     []float64 `json:"logits"`          // of the candidates, without the bias
	Fresh      []string  `json:"fresh,omitempty"` // candidates with the exploration bias
	Bias       float64   `json:"bias,omitempty"`  // δ, added to the logits of Fresh
	Chosen     []string  `json:"chosen"`          // in the order of the draw
	LogProb    float64   `json:"log_prob"`        // of Chosen in this order, including the bias
	Value      float64   `json:"value"`           // estimate of the critic
	Greedy     bool      `json:"greedy,omitempty"`
	// Controller names the controller of the chooser; empty means PPOLearner. LogProb of another
	// one is that of Chosen in any order, because its Logits may not determine the probability.
	Controller string `json:"controller,omitempty"`
	// Tokens is the length of the chosen skills in the prompt, in tokens; see Credit.TokenPrice.
	Tokens int `json:"tokens,omitempty"`
}

// Choice configures a choice.
type Choice struct {
	K           int           // skills to choose; fewer if there are fewer candidates
	Greedy      bool          // take the largest logits, without noise and bias: for evaluation and production
	Exploration Exploration   // of new skills; the zero value means none
	Since       int           // iterations since the new skills were added, from 0
	Key         keyedrand.Key // of the span
}

// Decide scores the candidates for a state and chooses among them. The caller sets the decision's
// ID, Policy, Bank and Tokens.
func (s *Scorer) Decide(state []float64, how Choice) (Decision, error) {
	if how.K < 1 {
		return Decision{}, fault.Newf(fault.InvalidArgument, "cannot choose %d skills, at least one is required", how.K)
	}
	logits, value, err := s.Score(state)
	if err != nil {
		return Decision{}, err
	}
	if notFinite(value) || notFinite(logits...) {
		return Decision{}, fault.Newf(fault.InvalidArgument, "the state gives logits that are not finite")
	}
	d := Decision{State: slices.Clone(state), Candidates: s.ids, Logits: logits, Value: value, Greedy: how.Greedy}
	z := slices.Clone(logits)
	var chosen []int
	if how.Greedy {
		chosen = TopK(z, how.K)
	} else {
		if d.Bias = how.Exploration.Bias(z, s.fresh, how.Since); d.Bias > 0 {
			addBias(z, s.fresh, d.Bias)
			d.Fresh = s.freshIDs
		}
		chosen = SampleTopK(z, s.ids, how.K, how.Key)
	}
	d.LogProb = LogProb(z, chosen)
	for _, i := range chosen {
		d.Chosen = append(d.Chosen, s.ids[i])
	}
	return d, nil
}

// Propensity returns the probability with which the chosen skills were chosen, in any order: 1 for a
// greedy choice.
func (d Decision) Propensity() float64 {
	if d.Greedy {
		return 1
	}
	chosen, err := d.indices(d.Chosen)
	fresh, wrong := d.indices(d.Fresh)
	if d.Controller != "" || err != nil || wrong != nil || len(chosen) > maxSet || len(d.Logits) != len(d.Candidates) {
		return math.Exp(d.LogProb)
	}
	z := slices.Clone(d.Logits)
	for _, i := range fresh {
		z[i] += d.Bias
	}
	return math.Exp(LogProbSet(z, chosen))
}

// indices returns the positions of ids among the candidates.
func (d Decision) indices(ids []string) ([]int, error) {
	out := make([]int, len(ids))
	for j, id := range ids {
		i, there := slices.BinarySearch(d.Candidates, id)
		if !there {
			return nil, fmt.Errorf("decision %q: skill %q is not a candidate", d.ID, id)
		}
		out[j] = i
	}
	return out, nil
}
