package evolution

import "cairn/internal/service/learning/runspec"

// Spec is what a round of evolution is pinned to.
type Spec struct {
	runspec.Spec
	Keeping runspec.SpanOptions `json:"keeping"`
	Bank    string              `json:"bank"`
	BankID  int64               `json:"bank_id"`
	Base    int                 `json:"base"`
	Recipe  string              `json:"recipe"`
	Score   string              `json:"score"`
	Held    []int64             `json:"held"`          // conversations that the candidate is judged on
	Due     bool                `json:"due,omitempty"` // nobody asked for it
}

// Request asks for a round.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // the caller's; empty is the next round on the bank's version
	Spec
}
