package policy

import (
	"math"
	"slices"
)

// LogProb is the logarithm of the probability that Top-K sampling without
// replacement chooses exactly these indices in this order (Plackett and Luce):
//
//	log π = Σ_j ( z_{a_j} − logsumexp_{i ∉ {a_1…a_{j−1}}} z_i )
//
// Written with what is left instead of 1 − Σp it stays exact when the policy is
// nearly certain. A logit of −∞ masks its skill. What cannot be drawn, a masked
// skill, one twice or one that z has not, is −∞; nothing drawn is 0.
func LogProb(z []float64, chosen []int) float64 {
	return logProb(z, chosen, make([]bool, len(z)))
}

// logProb is LogProb with a buffer as long as z, which it clears.
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

// addLogProbGradient adds weight·∂log π/∂z = weight·Σ_j (onehot(a_j) − softmax
// over what was left at j). taken is as for logProb.
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

// maxSet bounds LogProbSet, whose work doubles with each index.
const maxSet = 16

// LogProbSet is the logarithm of the probability that Top-K sampling chooses
// these indices in any order: the sum of LogProb over their permutations, summed
// over subsets instead, of which there are 2^K and not K!. It is −∞ where LogProb
// is, and panics above 16 indices.
func LogProbSet(z []float64, set []int) float64 {
	if len(set) > maxSet {
		panic("controller: LogProbSet of more than 16 indices")
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

// validChoice tells whether chosen are distinct indices of n logits.
func validChoice(chosen []int, n int) bool {
	for j, a := range chosen {
		if a < 0 || a >= n || slices.Contains(chosen[:j], a) {
			return false
		}
	}
	return true
}
