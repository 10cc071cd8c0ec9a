package designer

import (
	"context"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
)

// MinedCase is a selected case with the computed cause of its failure.
type MinedCase struct {
	Handle     string    `json:"handle"`
	Case       int64     `json:"case"`
	Cluster    int       `json:"cluster"`
	Difficulty float64   `json:"difficulty"`
	Mechanism  Mechanism `json:"mechanism"`
	Question   string    `json:"question"`
	Gold       []string  `json:"gold,omitempty"`
	Prediction string    `json:"prediction,omitempty"`
	Retrieved  []string  `json:"retrieved,omitempty"` // texts
	Evidence   []string  `json:"evidence,omitempty"`  // texts
}

// Candidate is the bank that results from a proposal.
type Candidate struct {
	Members  []memoryskill.Version    `json:"members"`
	Capacity int                      `json:"capacity"`
	Fresh    []string                 `json:"fresh"`
	Changes  []memoryskill.Difference `json:"changes"`
	Evicted  []string                 `json:"evicted,omitempty"`
	Warnings []memoryskill.Warning    `json:"warnings,omitempty"`
}

// Bank returns the candidate as a bank.
func (c Candidate) Bank() (memoryskill.Bank, error) {
	return memoryskill.NewBank(c.Capacity, c.Members...)
}

// Analysis is a model's analysis of the cases.
type Analysis struct {
	Patterns []struct {
		Name        string   `json:"pattern_name"`
		Cases       []string `json:"affected_cases"`
		Cause       string   `json:"root_cause"`
		Explanation string   `json:"explanation"`
		Fix         string   `json:"potential_fix"`
	} `json:"failure_patterns"`
	Recommendations []struct {
		Action    string  `json:"action"`
		Target    *string `json:"target_operation"`
		Rationale string  `json:"rationale"`
		Priority  string  `json:"priority"`
	} `json:"recommendations"`
	Summary string `json:"summary"`
}

// Input is the input of a designer round.
type Input struct {
	Ref    run.Ref
	Step   string // prefix of its ledger keys
	Model  memoryskill.Model
	Lang   string
	Recipe memoryskill.Recipe
	Bank   memoryskill.Bank
	Cases  []MinedCase
	Failed []string // edits that brought no improvement
	Stats  map[string]memoryskill.Stats
	// RefineOnly rejects proposals that add skills.
	RefineOnly bool
}

// Designer analyzes hard cases and proposes edits of a bank. A repeated call with the same Ref and
// Step has the same result.
type Designer interface {
	// Diagnose explains why the cases failed.
	Diagnose(ctx context.Context, in Input) (*Analysis, error)
	// Propose proposes edits, with the bank that results from them. Both results are nil without a
	// valid proposal; the bank is nil if there is nothing to change.
	Propose(ctx context.Context, in Input, a *Analysis) (*Proposal, *Candidate, error)
}
