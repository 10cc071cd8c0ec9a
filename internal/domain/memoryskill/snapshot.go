package memoryskill

import (
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/policy"
)

// Snapshot binds what was trained together: a bank, the policy that chooses from
// it, and the optimiser that goes on training it. They are promoted and rolled
// back as one; a policy beside a bank that it never saw is worth nothing.
type Snapshot struct {
	Hash      string `json:"hash"` // of the three
	Bank      string `json:"bank"`
	Policy    string `json:"policy"`
	Optimiser string `json:"optimiser"`
}

// Bind takes a snapshot.
func Bind(b Bank, p policy.Chooser, o policy.Optimiser) Snapshot {
	s := Snapshot{Bank: b.Hash(), Policy: p.Hash(), Optimiser: o.Hash()}
	s.Hash = digest("snapshot", s.Bank, s.Policy, s.Optimiser)
	return s
}

// Verify refuses a bank, a policy or an optimiser that is not the snapshot's.
func (s Snapshot) Verify(b Bank, p policy.Chooser, o policy.Optimiser) error {
	found := Bind(b, p, o)
	if found == s {
		return nil
	}
	part := "hash"
	switch {
	case found.Bank != s.Bank:
		part = "bank"
	case found.Policy != s.Policy:
		part = "policy"
	case found.Optimiser != s.Optimiser:
		part = "optimiser"
	}
	return fault.New(fault.VersionConflict, fmt.Sprintf("the %s is not that of snapshot %.12s", part, s.Hash),
		"load bank, policy and optimiser of one snapshot")
}
