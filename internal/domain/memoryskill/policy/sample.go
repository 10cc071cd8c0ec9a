package policy

import (
	"cmp"
	"math"
	"slices"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// TopK is the indices of the k largest scores, largest first; of equal scores the
// earlier comes first. A score of −∞ masks its place and NaN is none: neither is
// ever taken, so there are fewer than k when fewer are left.
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

// SampleTopK draws k skills without replacement, in the law of LogProb: Gumbel
// noise is added to each logit and the largest are taken (Gumbel-Top-K, Kool,
// van Hoof and Welling 2019). Each skill's noise depends on its own id, so a
// skill more or less in the bank leaves the noise of the others as it was.
// ids are parallel to z; key.Skill and key.Purpose are set here.
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
