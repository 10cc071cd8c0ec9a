package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Fixed chooses the same skills for every span: the first K of an order. It encodes spans and skills
// like another chooser, and learns nothing.
type Fixed struct {
	Chooser
	Order []string // IDs, first choice first; candidates that are not in it are never chosen
}

// Choose returns the first K candidates in the order of f. Its choice is certain.
func (f Fixed) Choose(state []float64, candidates []Candidate, how Choice) (Decision, error) {
	if how.K < 1 {
		return Decision{}, fault.Newf(fault.InvalidArgument, "cannot choose %d skills, at least one is required", how.K)
	}
	d := Decision{State: slices.Clone(state), Greedy: true}
	for _, c := range candidates {
		d.Candidates = append(d.Candidates, c.ID)
	}
	slices.Sort(d.Candidates)
	for _, id := range f.Order {
		if _, there := slices.BinarySearch(d.Candidates, id); there && len(d.Chosen) < how.K {
			d.Chosen = append(d.Chosen, id)
		}
	}
	if len(d.Chosen) == 0 {
		return Decision{}, fault.Newf(fault.InvalidArgument, "the bank has none of the %d skills of a fixed set",
			len(f.Order))
	}
	for _, id := range d.Candidates { // the scores that lead to the choice
		i := slices.Index(f.Order, id)
		if i < 0 {
			i = len(f.Order)
		}
		d.Logits = append(d.Logits, -float64(i))
	}
	return d, nil
}

// Hash identifies the order.
func (f Fixed) Hash() string {
	sum := sha256.Sum256([]byte("fixed\x00" + strings.Join(f.Order, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Weights returns 0: nothing is trained.
func (f Fixed) Weights() int { return 0 }
