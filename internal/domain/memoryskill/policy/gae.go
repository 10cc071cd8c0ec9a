package policy

import "math"

// GAE returns the generalized advantage estimation (Schulman et al. 2016, eq. 16) over decisions in
// time order:
//
//	δ_t = r_t + γ·V_{t+1} − V_t,  A_t = δ_t + γ·λ·A_{t+1}
//
// A decision with done ends an episode: the value after it is 0, as after the last decision, and
// later rewards do not affect it. Returns are A + V. All slices have the same length.
func GAE(rewards, values []float64, done []bool, gamma, lambda float64) (advantages, returns []float64) {
	advantages, returns = make([]float64, len(rewards)), make([]float64, len(rewards))
	nextValue, nextAdvantage := 0.0, 0.0
	for t := len(rewards) - 1; t >= 0; t-- {
		if done[t] {
			nextValue, nextAdvantage = 0, 0
		}
		delta := rewards[t] + gamma*nextValue - values[t]
		advantages[t] = delta + gamma*lambda*nextAdvantage
		returns[t] = advantages[t] + values[t]
		nextValue, nextAdvantage = values[t], advantages[t]
	}
	return advantages, returns
}

// normalize scales the advantages of the marked decisions to mean 0 and population standard
// deviation 1. The others become 0. It is applied to the whole batch, never to a minibatch.
func normalize(advantages []float64, counts []bool) {
	n, mean := 0.0, 0.0
	for t, a := range advantages {
		if counts[t] {
			n++
			mean += a
		}
	}
	mean /= max(1, n)
	variance := 0.0
	for t, a := range advantages {
		if counts[t] {
			variance += (a - mean) * (a - mean)
		}
	}
	deviation := math.Sqrt(variance / max(1, n))
	for t := range advantages {
		if !counts[t] {
			advantages[t] = 0
			continue
		}
		advantages[t] = (advantages[t] - mean) / (deviation + 1e-8)
	}
}
