package learning

import (
	"fmt"

	"cairn/internal/domain/memoryskill/designer"
)

// Outcomes of a candidate.
const (
	Promoted = "promoted" // the candidate is active
	Rejected = "rejected" // the candidate was not better
)

// Comparison compares a candidate with the incumbent, what live builds do now, and with what is
// simpler than a learned choice. Promote is set if the candidate is better than each of them.
type Comparison struct {
	designer.Comparison
	All   designer.Comparison `json:"all_skills"` // with all skills for every span
	Fixed designer.Comparison `json:"best_fixed"` // with the best fixed set of skills
}

// Verdict decides on a candidate, and sets whether it passes.
func (c *Comparison) Verdict() (outcome, note string) {
	for _, b := range []struct {
		name string
		with designer.Comparison
	}{{"what live builds do now", c.Comparison}, {"all skills", c.All}, {"the best fixed set of skills", c.Fixed}} {
		if !b.with.Promote {
			c.Promote = false
			return Rejected, fmt.Sprintf("not better than %s on held-out conversations: %+.4f, at least %+.4f", b.name,
				b.with.Mean, b.with.Lower)
		}
	}
	return Promoted, ""
}
