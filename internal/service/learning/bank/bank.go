// Package bank stores banks: versioned sets of memory skills with the policy that chooses from
// them. A version binds the bank, the policy and the optimizer; they are promoted, rolled back and
// verified together. A lease ensures that a bank has one writer at a time. Writers replace the head
// with compare-and-swap.
//
//	head, err := banks.Head(ctx, ws, bank.Default) // creates the default bank if needed
//
// The methods that take a Tx are for the other packages of learning.
package bank

import (
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Default is the name of the bank that builds use by default.
const Default = "default"

// Actions that created a version.
const (
	ActionSeed     = "seed"
	ActionImport   = "import"
	ActionEvolve   = "evolve"
	ActionTrain    = "train"
	ActionAdapt    = "adapt" // from live decisions
	ActionRollback = "rollback"
	ActionPrompt   = "prompt"
)

// Head is a version with its parts, whose hashes are verified.
type Head struct {
	learning.BankRow
	Version   learning.BankVersion
	Bank      memoryskill.Bank
	Policy    policy.Chooser
	Optimizer policy.Optimizer
	Stats     map[string]memoryskill.Stats // by version ID of the skill; only set by At
}

// Snapshot returns the hash that binds the parts.
func (h Head) Snapshot() memoryskill.Snapshot { return memoryskill.Bind(h.Bank, h.Policy, h.Optimizer) }

// Draft is a new version. It is based on version Base, which must still be active.
type Draft struct {
	Base      int
	Action    string
	Bank      memoryskill.Bank
	Policy    policy.Chooser
	Optimizer policy.Optimizer
	Fresh     []string
	Reason    string
	Run       string
	// Prompts replaces the prompts of the version; nil keeps those of Base.
	Prompts *memoryskill.Prompts
}

// OrDefault returns name, or Default if it is empty.
func OrDefault(name string) string {
	if name == "" {
		return Default
	}
	return name
}
