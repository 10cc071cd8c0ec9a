package policy

import (
	"math"

	"cairn/internal/domain/fault"
)

// DefaultMaxWeight bounds the importance weight of a decision that another policy
// made: more would let a few lucky draws decide an update.
const DefaultMaxWeight = 2

// leastWeight is that of a choice which the policy all but rules out: 0 would be none.
const leastWeight = 1e-12

// Reweigh prepares steps that other policies made for an update of this one. Each
// gets the importance weight of its choice,
//
//	w = min(most, π(A|s) / π_behaviour(A|s)),
//
// from the log-probability that is kept with the decision, and stands from then on
// as if this policy had made it, so that Update clips around what the policy is and
// not around what it was (decoupled objective, Hilton, Cobbe and Schulman 2021, eq.
// 4, with the weights truncated). vectors holds every candidate's.
func Reweigh(policy Policy, steps []Step, vectors map[string][]float64, most float64) ([]Step, error) {
	if !(most > 0) || math.IsInf(most, 1) {
		return nil, fault.Newf(fault.InvalidArgument,
			"importance weights are bounded by %v; it must be above 0 and finite", most)
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
			return nil, fault.Newf(fault.InvalidArgument, "decision %q is impossible for the policy", step.ID)
		}
		step.Weight = max(leastWeight, min(most, math.Exp(now-step.LogProb)))
		step.LogProb = now
		out[t] = step
	}
	return out, nil
}
