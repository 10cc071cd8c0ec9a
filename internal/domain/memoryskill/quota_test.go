package memoryskill_test

import (
	"maps"
	"testing"

	"cairn/internal/domain/memoryskill"
)

// The published vectors: every category has one question, even beyond the sample.
func TestQuotasFollowTheSizesOfCategories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes map[int]int
		ratio float64
		want  map[int]int
	}{
		{map[int]int{1: 32, 2: 37, 3: 13, 4: 70}, .2, map[int]int{1: 7, 2: 8, 3: 3, 4: 13}},
		{map[int]int{1: 32, 2: 37, 3: 13, 4: 70}, .01, map[int]int{1: 1, 2: 1, 3: 1, 4: 1}},
		{map[int]int{1: 2, 2: 50}, .5, map[int]int{1: 2, 2: 24}},
		{map[int]int{1: 2, 2: 3}, 1, map[int]int{1: 2, 2: 3}},
		{map[int]int{1: 5, 2: 0}, .1, map[int]int{1: 1}},
		{map[int]int{}, .5, map[int]int{}},
		{map[int]int{3: 0}, .5, map[int]int{}},
		{map[int]int{1: 2, 2: 3}, 7, map[int]int{1: 2, 2: 3}},
		{map[int]int{1: 2, 2: 3}, -1, map[int]int{1: 1, 2: 1}},
		{map[int]int{1: 10, 2: 10}, .15, map[int]int{1: 2, 2: 1}}, // equal shares: the lower category first
	} {
		if got := memoryskill.Quotas(c.sizes, c.ratio); !maps.Equal(got, c.want) {
			t.Errorf("%v of %v: %v, want %v", c.ratio, c.sizes, got, c.want)
		}
	}
}
