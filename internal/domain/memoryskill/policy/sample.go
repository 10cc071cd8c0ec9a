package policy

import (
	"cmp"
	"math"
	"slices"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// TopK returns the indices of the k largest scores, largest first. Of equal scores, the earlier is
// first. Scores of −∞ and NaN are never taken, so the result can have fewer than k indices.
func TopK(scores []float64, k int) []int {
	order := make([]int, 0, len(scores))
	for i, x := range scores {
		if !math.IsNaN(x) && !math.IsInf(x, -1) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:max(0, min(k, len(order)))]
}

// SampleTopK draws k skills without replacement with the probabilities of LogProb. It adds Gumbel
// noise to each logit and takes the largest (Gumbel-Top-K, Kool, van Hoof and Welling 2019). The
// noise of a skill depends on its ID, so that adding or removing a skill does not change the noise
// of the others. ids are parallel to z. SampleTopK sets key.Skill and key.Purpose.
func SampleTopK(z []float64, ids []string, k int, key keyedrand.Key) []int {
	perturbed := make([]float64, len(z))
	key.Purpose = "gumbel"
	for i, x := range z {
		key.Skill = ids[i]
		stream := key.Stream()
		perturbed[i] = x + stream.Gumbel()
	}
	return TopK(perturbed, k)
}
