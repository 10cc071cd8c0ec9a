package transcript

import (
	"encoding/json"
	"fmt"
	"math"
)

// decodeRanges decodes message_indices: a number, or an array of [first, last], [one] and numbers.
// It returns message numbers below n, without repetitions and in the given order, and a problem for
// each dropped item.
func decodeRanges(raw json.RawMessage, n int) (seqs []int, problems []string) {
	list, err := arrayItems(raw)
	if err != nil {
		return nil, []string{"message_indices is not valid JSON"}
	}
	seen := make([]bool, max(n, 0))
	for _, item := range list {
		first, last, err := decodeRange(item, n)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%.60s: %v", item, err))
			continue
		}
		for seq := first; seq <= last; seq++ {
			if !seen[seq] {
				seen[seq] = true
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs, problems
}

func decodeRange(item json.RawMessage, n int) (first, last int, err error) {
	bounds, err := arrayItems(item)
	if err != nil {
		return 0, 0, err
	}
	if len(bounds) != 1 && len(bounds) != 2 {
		return 0, 0, fmt.Errorf("want [first, last], [one] or a number")
	}
	var ends [2]float64
	for i := range bounds {
		var bound *float64
		if json.Unmarshal(bounds[i], &bound) != nil || bound == nil || *bound != math.Trunc(*bound) {
			return 0, 0, fmt.Errorf("not an integer")
		}
		ends[i] = *bound
	}
	if len(bounds) == 1 {
		ends[1] = ends[0]
	}
	switch {
	case ends[0] < 0 || ends[1] < 0:
		return 0, 0, fmt.Errorf("negative")
	case ends[1] < ends[0]:
		return 0, 0, fmt.Errorf("reversed")
	case ends[0] >= float64(n):
		return 0, 0, fmt.Errorf("beyond the last message, %d", n-1)
	}
	return int(ends[0]), int(min(ends[1], float64(n-1))), nil
}

// arrayItems returns the items of an array, or the value itself as the only item.
func arrayItems(raw json.RawMessage) (list []json.RawMessage, err error) {
	if kind(raw) != '[' {
		return []json.RawMessage{raw}, nil
	}
	err = json.Unmarshal(raw, &list) // into a new slice, because RawMessage reuses its bytes
	return list, err
}
