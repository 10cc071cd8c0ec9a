package bank

import (
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Production returns the chooser of live choices that are not drawn: the policy, or, as long as it
// is untrained, the skills in the order of their prior. fresh are the new skills of the bank.
func Production(b memoryskill.Bank, p policy.Chooser, o policy.Optimizer, fresh []string) policy.Chooser {
	if o.Steps() > 0 {
		return p
	}
	return policy.Fixed{Chooser: p, Order: memoryskill.Prior(b, fresh)}
}

// Production returns the chooser of live choices with the head that are not drawn.
func (h Head) Production() policy.Chooser {
	return Production(h.Bank, h.Policy, h.Optimizer, h.Version.Fresh)
}
