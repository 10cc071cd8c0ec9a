package policy

import "slices"

// Constants of the reference program's rewards.
const (
	lastShare   = 0.6  // of R, for the last decision
	spreadDecay = 0.9  // factor from each decision to the previous one
	quota       = 0.10 // maximum sum of the shaping rewards over a trace
	failQuota   = 0.05 // maximum penalty for failed actions
	idleShare   = 0.2  // share of the quota if doing nothing was right
)

// Redistribute spreads R over n decisions: 0.6·R to the last, and 0.4·R to all with weights
// 0.9^(n−1−i). A single decision gets all of R.
func Redistribute(reward float64, n int) []float64 {
	if n < 2 {
		return slices.Repeat([]float64{reward}, max(0, n))
	}
	rewards, weight, sum := make([]float64, n), 1.0, 0.0
	for i := n - 1; i >= 0; i-- {
		rewards[i] = weight
		sum += weight
		weight *= spreadDecay
	}
	for i := range rewards {
		rewards[i] *= (1 - lastShare) * reward / sum
	}
	rewards[n-1] += lastShare * reward
	return rewards
}

// Effect is the result of a decision's actions.
type Effect struct {
	Selected []string // action types of the chosen skills: insert, update, delete, noop
	Emitted  []string // action types that were emitted and took effect
	Failed   bool     // all emitted actions failed
}

// noop is the action type that changes nothing.
const noop = "noop"

// Process returns the shaping reward of one of n decisions: a share of ±0.10 for emitting the kinds
// of action of the chosen skills.
func Process(e Effect, n int) float64 {
	share := quota / float64(max(1, n))
	selected, emitted := set(e.Selected), set(e.Emitted)
	switch {
	case e.Failed:
		return -failQuota / float64(max(1, n))
	case len(emitted) == 0:
		return 0
	}
	var both []string
	for _, s := range selected {
		if slices.Contains(emitted, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		return -share
	}
	union := len(selected) + len(emitted) - len(both)
	share *= float64(len(both)) / float64(union)
	if len(both) == 1 && both[0] == noop {
		share *= idleShare
	}
	return share
}

func set(types []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(types)))
}
