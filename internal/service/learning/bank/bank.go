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
	"time"

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

// Row is a bank and the number of its active version.
type Row struct {
	ID       int64
	Name     string
	Head     int
	FrozenAt *time.Time // nil if the bank may change
}

// Version is a stored version of a bank.
type Version struct {
	Number    int      `json:"number"`
	Parent    int      `json:"parent,omitempty"`
	Action    string   `json:"action"`
	BankSHA   string   `json:"bank"`
	Capacity  int      `json:"capacity"`
	Members   []string `json:"skills"`
	Fresh     []string `json:"fresh,omitempty"`
	Policy    string   `json:"policy"`
	Optimizer string   `json:"optimizer"`
	Snapshot  string   `json:"snapshot"`
	Reason    string   `json:"reason,omitempty"`
	Run       string   `json:"run,omitempty"`
	// Prompts replace built-in ones, by stage and language, such as remember.en.
	Prompts   memoryskill.Prompts `json:"prompts,omitempty"`
	CreatedAt time.Time           `json:"created_at,omitzero"`
}

// Summary is an entry in a list of banks.
type Summary struct {
	Name      string    `json:"name"`
	Version   int       `json:"version"`
	Skills    int       `json:"skills"`
	Action    string    `json:"action"`
	Snapshot  string    `json:"snapshot"`
	OpenCases int       `json:"open_cases"`
	CreatedAt time.Time `json:"created_at"`
	// FrozenAt is the time since when the bank does not change, see Service.Freeze.
	FrozenAt *time.Time `json:"frozen_at,omitempty" doc:"Since when the bank does not change; absent if it may"`
}

// Head is a version with its parts, whose hashes are verified.
type Head struct {
	Row
	Version   Version
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
