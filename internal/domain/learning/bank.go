package learning

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// BankRow is a bank and the number of its active version.
type BankRow struct {
	ID       int64
	Name     string
	Head     int
	FrozenAt *time.Time // nil if the bank may change
}

// BankVersion is a stored version of a bank.
type BankVersion struct {
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

// BankSummary is an entry in a list of banks.
type BankSummary struct {
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

// Frozen reports whether the bank must not change.
func (r BankRow) Frozen() bool { return r.FrozenAt != nil }

// CheckChangeable returns Protected if the bank is frozen.
func (r BankRow) CheckChangeable() error {
	if !r.Frozen() {
		return nil
	}
	return fault.New(fault.Protected, fmt.Sprintf("bank %q is frozen", r.Name),
		"run `cairn bank unfreeze --bank "+r.Name+"` first")
}
