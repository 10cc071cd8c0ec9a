package soak

import (
	"slices"
	"testing"
)

func TestReviewsAreForeseenWhereTheCountersAskForThem(t *testing.T) {
	t.Parallel()
	acts := func(turns int, saved ...int) []act {
		out := make([]act, turns)
		for _, turn := range saved {
			out[turn-1] = saves
		}
		return out
	}
	for name, c := range map[string]struct {
		acts []act
		want []review
	}{
		"nothing saved": {acts(20), []review{{number: 10, memory: true, skill: true},
			{number: 20, memory: true, skill: true}}},
		"too short":        {acts(2), nil},
		"three and an end": {acts(3), []review{{number: 3, memory: true, skill: true, atEnd: true}}},
		"saved early": {acts(20, 4),
			[]review{{number: 10, skill: true}, {number: 14, memory: true}, {number: 20, skill: true}}},
		"saved in between": {acts(16, 4, 12),
			[]review{{number: 10, skill: true}, {number: 16, memory: true, skill: true, atEnd: true}}},
		"two left after a mark": {acts(12), []review{{number: 10, memory: true, skill: true}}},
	} {
		one := talk{name: "c0000", acts: c.acts}
		if one.foresee(defaults); !slices.Equal(one.reviews, c.want) {
			t.Errorf("%s: %+v, want %+v", name, one.reviews, c.want)
		}
	}
}
