package memoryskill

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Quotas distributes a sample over categories. sizes is the number of questions by category. Of n
// questions, max(1, min(n, ⌈n·ratio⌉)) are selected. Every category with questions gets one, even
// if that exceeds the sample. The rest is distributed by the floor of each share, then by the
// largest remainder. Of equal remainders, the larger and then the lower category is first.
func Quotas(sizes map[int]int, ratio float64) map[int]int {
	n := 0
	var categories []int
	for _, c := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[c] > 0 {
			categories, n = append(categories, c), n+sizes[c]
		}
	}
	out := map[int]int{}
	if n == 0 {
		return out
	}
	left := max(1, min(n, int(math.Ceil(float64(n)*min(1, max(0, ratio))))))
	for _, c := range categories {
		out[c] = 1
		left--
	}
	if left <= 0 {
		return out
	}
	remainder := map[int]float64{}
	taken := 0
	for _, c := range categories {
		share := float64(left) * float64(sizes[c]) / float64(n)
		whole := int(math.Floor(share))
		out[c], taken, remainder[c] = out[c]+whole, taken+whole, share-float64(whole)
	}
	slices.SortStableFunc(categories, func(a, b int) int {
		return cmp.Or(cmp.Compare(remainder[b], remainder[a]), cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	})
	for left -= taken; left > 0; {
		for _, c := range categories {
			if left > 0 && out[c] < sizes[c] {
				out[c]++
				left--
			}
		}
	}
	return out
}
