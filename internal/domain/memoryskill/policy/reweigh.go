package policy

import (
	"math"

	"cairn/internal/domain/fault"
)

// DefaultMaxWeight is the default bound of the importance weight of another policy's decision. With
// a higher bound, a few improbable draws could dominate an update.
const DefaultMaxWeight = 2

// minWeight is the weight of a choice that the policy nearly excludes. 0 would mean the default
// weight.
const minWeight = 1e-12

// Reweigh prepares steps of other policies for an update of this policy. Each step gets the
// importance weight of its choice,
//
//	w = min(most, π(A|s) / π_behaviour(A|s)),
//
// from the log-probability that is stored with the decision. It is then treated as if this policy
// had made it, so that Update clips relative to the current policy (decoupled objective, Hilton,
// Cobbe and Schulman 2021, eq. 4, with truncated weights). vectors has the vector of every
// candidate.
func Reweigh(policy Policy, steps []Step, vectors map[string][]float64, most float64) ([]Step, error) {
	if !(most > 0) || math.IsInf(most, 1) {
		return nil, fault.Newf(fault.InvalidArgument,
			"the bound of importance weights is %v, must be above 0 and finite", most)
	}
	b, err := newBatch(policy.shape, steps, vectors, 1, 1)
	if err != nil {
		return nil, err
	}
	net := newNetwork(policy.shape, policy.weights, nil, 1, b.skills.rows)
	net.embedSkills(b.skills)
	state := newMatrix(1, 2*policy.shape.Dim)
	out := make([]Step, len(steps))
	for t, step := range steps {
		copy(state.data, row(b.states, t))
		logits, _ := net.forward(state)
		z := make([]float64, len(b.columns[t]))
		for i, c := range b.columns[t] {
			z[i] = row(logits, 0)[c]
		}
		addBias(z, b.fresh[t], b.bias[t])
		now := LogProb(z, b.chosen[t])
		if notFinite(now) {
			return nil, fault.Newf(fault.InvalidArgument, "decision %q has probability 0 under the policy", step.ID)
		}
		step.Weight = max(minWeight, min(most, math.Exp(now-step.LogProb)))
		step.LogProb = now
		out[t] = step
	}
	return out, nil
}
