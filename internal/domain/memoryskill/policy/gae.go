package policy

import "math"

// GAE is generalised advantage estimation (Schulman et al. 2016, eq. 16) over
// decisions in time order:
//
//	δ_t = r_t + γ·V_{t+1} − V_t,  A_t = δ_t + γ·λ·A_{t+1}
//
// Where done is set an episode ends: nothing flows back over it, and the value
// after it is 0, as after the last. Returns are A + V. All slices have one length.
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

// normalise brings the advantages that count to mean 0 and population standard
// deviation 1; the others become 0. It is done once over the whole batch, never
// over a minibatch.
func normalise(advantages []float64, counts []bool) {
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
