package memoryskill

import (
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/policy"
)

// Snapshot binds a bank, the policy trained with it, and the policy's optimizer. They are promoted
// and rolled back together, because a policy is not useful with another bank.
type Snapshot struct {
	Hash      string `json:"hash"` // of the three hashes
	Bank      string `json:"bank"`
	Policy    string `json:"policy"`
	Optimizer string `json:"optimizer"`
}

// Bind returns the snapshot of a bank, a policy and an optimizer.
func Bind(b Bank, p policy.Chooser, o policy.Optimizer) Snapshot {
	s := Snapshot{Bank: b.Hash(), Policy: p.Hash(), Optimizer: o.Hash()}
	s.Hash = digest("snapshot", s.Bank, s.Policy, s.Optimizer)
	return s
}

// Verify returns an error if a part does not belong to the snapshot.
func (s Snapshot) Verify(b Bank, p policy.Chooser, o policy.Optimizer) error {
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
	case found.Optimizer != s.Optimizer:
		part = "optimizer"
	}
	return fault.New(fault.VersionConflict, fmt.Sprintf("the %s does not belong to snapshot %.12s", part, s.Hash),
		"load bank, policy and optimizer of the same snapshot")
}
