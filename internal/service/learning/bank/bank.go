// Package bank keeps banks: versioned sets of memory skills with the policy that
// chooses from them. Bank, policy and optimiser are one version. They are promoted,
// rolled back and verified together, moved by compare-and-swap, by one writer at a
// time, which holds a lease.
//
//	head, err := banks.Head(ctx, ws, bank.Default) // seeded when it is not there
//
// The methods that take a Tx are for the other packages of learning.
package bank

import (
	"time"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Default is the one that memories are built with unless told otherwise.
const Default = "default"

// What led to a version.
const (
	ActionSeed     = "seed"
	ActionImport   = "import"
	ActionEvolve   = "evolve"
	ActionTrain    = "train"
	ActionAdapt    = "adapt" // from live decisions
	ActionRollback = "rollback"
)

// Row is a bank and the number of its version in force.
type Row struct {
	ID   int64
	Name string
	Head int
}

// Version is a bank's row: what stood together at one time.
type Version struct {
	Number    int       `json:"number"`
	Parent    int       `json:"parent,omitempty"`
	Action    string    `json:"action"`
	BankSHA   string    `json:"bank"`
	Capacity  int       `json:"capacity"`
	Members   []string  `json:"skills"`
	Fresh     []string  `json:"fresh,omitempty"`
	Policy    string    `json:"policy"`
	Optimiser string    `json:"optimiser"`
	Snapshot  string    `json:"snapshot"`
	Reason    string    `json:"reason,omitempty"`
	Run       int64     `json:"run,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Summary is a bank as lists show it.
type Summary struct {
	Name      string    `json:"name"`
	Version   int       `json:"version"`
	Skills    int       `json:"skills"`
	Action    string    `json:"action"`
	Snapshot  string    `json:"snapshot"`
	OpenCases int       `json:"open_cases"`
	CreatedAt time.Time `json:"created_at"`
}

// Head is a version with its parts, verified against each other.
type Head struct {
	Row
	Version   Version
	Bank      memoryskill.Bank
	Policy    policy.Chooser
	Optimiser policy.Optimiser
	Stats     map[string]memoryskill.Stats // of its skills, by version id; only At reads them
}

// Snapshot binds the parts.
func (h Head) Snapshot() memoryskill.Snapshot { return memoryskill.Bind(h.Bank, h.Policy, h.Optimiser) }

// Draft is a version to be: made on Base, which must be in force still.
type Draft struct {
	Base      int
	Action    string
	Bank      memoryskill.Bank
	Policy    policy.Chooser
	Optimiser policy.Optimiser
	Fresh     []string
	Reason    string
	Run       int64
}

// OrDefault returns name, and Default when it is empty.
func OrDefault(name string) string {
	if name == "" {
		return Default
	}
	return name
}
