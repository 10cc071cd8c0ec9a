package policy

import (
	"math"
	"slices"
)

// LogProb returns the log-probability that Top-K sampling without replacement chooses exactly these
// indices in this order (Plackett and Luce):
//
//	log π = Σ_j ( z_{a_j} − logsumexp_{i ∉ {a_1…a_{j−1}}} z_i )
//
// The form with the remaining logits instead of 1 − Σp is exact even if the policy is nearly
// certain. A logit of −∞ masks its skill. The result is −∞ for an impossible draw: a masked,
// repeated or unknown index. It is 0 for no indices.
func LogProb(z []float64, chosen []int) float64 {
	return logProb(z, chosen, make([]bool, len(z)))
}

// logProb is LogProb with a buffer of the length of z, which it clears.
func logProb(z []float64, chosen []int, taken []bool) float64 {
	clear(taken)
	sum := 0.0
	for _, a := range chosen {
		if a < 0 || a >= len(z) || taken[a] || math.IsInf(z[a], -1) {
			return math.Inf(-1)
		}
		top, rest := logNorm(z, taken)
		sum += z[a] - top - rest
		taken[a] = true
	}
	return sum
}

// addLogProbGradient adds weight·∂log π/∂z = weight·Σ_j (onehot(a_j) − softmax over the remaining
// logits at j). taken is as for logProb.
func addLogProbGradient(z []float64, chosen []int, weight float64, taken []bool, gradient []float64) {
	clear(taken)
	for _, a := range chosen {
		top, rest := logNorm(z, taken)
		gradient[a] += weight
		for i, x := range z {
			if !taken[i] {
				gradient[i] -= weight * math.Exp(x-top-rest)
			}
		}
		taken[a] = true
	}
}

// maxSet is the maximum size for LogProbSet. Each index doubles its work.
const maxSet = 16

// LogProbSet returns the log-probability that Top-K sampling chooses these indices in any order. It
// is the sum of LogProb over all permutations, computed over the 2^K subsets instead of the K!
// permutations. It is −∞ where LogProb is, and panics for more than 16 indices.
func LogProbSet(z []float64, set []int) float64 {
	if len(set) > maxSet {
		panic("policy: LogProbSet of more than 16 indices")
	}
	if !validChoice(set, len(z)) || slices.ContainsFunc(set, func(a int) bool { return math.IsInf(z[a], -1) }) {
		return math.Inf(-1)
	}
	taken := make([]bool, len(z))
	reached := make([]float64, 1<<len(set)) // by subset: log-probability that it was chosen first
	for subset := 1; subset < len(reached); subset++ {
		ways := make([]float64, 0, len(set))
		for j, a := range set {
			before := subset &^ (1 << j)
			if before == subset {
				continue
			}
			clear(taken)
			for k, b := range set {
				taken[b] = before>>k&1 == 1
			}
			top, rest := logNorm(z, taken)
			ways = append(ways, reached[before]+(z[a]-top-rest))
		}
		reached[subset] = logSumExp(ways, nil)
	}
	return reached[len(reached)-1]
}

// validChoice reports whether chosen are distinct indices of n logits.
func validChoice(chosen []int, n int) bool {
	for j, a := range chosen {
		if a < 0 || a >= n || slices.Contains(chosen[:j], a) {
			return false
		}
	}
	return true
}
