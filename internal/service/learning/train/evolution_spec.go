package train

import "cairn/internal/service/learning/bank"

// EvolutionSpec is the pinned configuration of a round.
type EvolutionSpec struct {
	bank.RunSpec
	Keeping bank.SpanOptions `json:"keeping"`
	Bank    string           `json:"bank"`
	BankID  int64            `json:"bank_id"`
	Base    int              `json:"base"`
	Recipe  string           `json:"recipe"`
	Score   string           `json:"score"`
	Held    []int64          `json:"held"`          // held-out conversations
	Due     bool             `json:"due,omitempty"` // started by a schedule, not by a request
}

// EvolutionRequest is a request for a round.
type EvolutionRequest struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // request ID of the caller; empty means the next round on the bank's version
	EvolutionSpec
}
