package evaluation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Split assigns the conversations: skills and policies learn from Train, the best fixed set is selected
// on Validation, and the table is about Test.
type Split struct {
	Train      []string `json:"train"`
	Validation []string `json:"validation"`
	Test       []string `json:"test"`
}

// ParseSplit divides samples in the shares of text, such as 6/2/2, in an order that the seed determines.
// Each share above 0 gets at least one conversation, first the test, then the training.
func ParseSplit(text, seed string, samples []Sample) (out Split, err error) {
	parts := strings.Split(text, "/")
	var shares []int
	total := 0
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1_000_000 {
			return out, badSplit(text)
		}
		shares, total = append(shares, n), total+n
	}
	if len(shares) != 3 || shares[2] == 0 {
		return out, badSplit(text)
	}
	ids := make([]string, len(samples))
	for i, s := range samples {
		ids[i] = s.ID
	}
	draw := keyedrand.Key{Run: seed, Purpose: "split"}.Stream()
	draw.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	sizes := quotas(len(ids), shares, total)
	out.Train, ids = ids[:sizes[0]], ids[sizes[0]:]
	out.Validation, out.Test = ids[:sizes[1]], ids[sizes[1]:]
	return out, nil
}

// quotas divides n by shares: the floor of each, then one more for the largest remainders, after each
// share above 0 has one if n suffices.
func quotas(n int, shares []int, total int) []int {
	sizes := make([]int, len(shares))
	left := n
	for _, i := range []int{2, 0, 1} {
		if shares[i] > 0 && left > 0 {
			sizes[i], left = 1, left-1
		}
	}
	for ; left > 0; left-- {
		best := 2
		lack := func(i int) float64 {
			if shares[i] == 0 {
				return -1e9
			}
			return float64(n*shares[i])/float64(total) - float64(sizes[i])
		}
		for i := range shares {
			if lack(i) > lack(best) {
				best = i
			}
		}
		sizes[best]++
	}
	return sizes
}

func badSplit(text string) error {
	return fault.New(
		fault.InvalidArgument,
		fmt.Sprintf("invalid split %q", text),
		"use three numbers for training, validation and test, the last above 0, such as 6/2/2, or a JSON "+
			`file with the lists "train", "validation" and "test"`,
	)
}

// ReadSplit reads a split from JSON.
func ReadSplit(raw []byte) (out Split, err error) {
	reader := json.NewDecoder(bytes.NewReader(raw))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&out); err != nil {
		return out, fault.Wrap(err, fault.InvalidArgument, "cannot read the split",
			`use {"train": [ids], "validation": [ids], "test": [ids]}`)
	}
	return out, nil
}

// check refuses a split that names unknown conversations, one twice, or none to test.
func (s Split) check(samples []Sample) error {
	seen := map[string]bool{}
	for _, id := range slices.Concat(s.Train, s.Validation, s.Test) {
		if !slices.ContainsFunc(samples, func(one Sample) bool { return one.ID == id }) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("the data has no conversation %q of the split", id),
				"use IDs of the data, such as "+strconv.Quote(samples[0].ID))
		}
		if seen[id] {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("the split has conversation %q twice", id),
				"name each conversation once")
		}
		seen[id] = true
	}
	if len(s.Test) == 0 {
		return fault.New(fault.InvalidArgument, "the split has no conversation to test on",
			`name at least one conversation in the list "test", or use another --split`)
	}
	return nil
}
