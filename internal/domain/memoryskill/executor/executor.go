package executor

import (
	"context"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
)

// Input is one span with the skills and memories for its prompt.
type Input struct {
	Ref      run.Ref
	Model    memoryskill.Model
	Step     string // ledger key
	Lang     string
	Span     Span
	Skills   []memoryskill.Skill
	Shown    []string          // memory IDs, in the order of their handles
	Contents map[string]string // of those Shown that still exist, by ID
}

// Executor extracts the actions of a span with the chosen skills. A repeated call with the same Ref
// and Step has the same result. Resolve checks the actions afterwards.
type Executor interface {
	Execute(ctx context.Context, in Input) ([]Action, Outcome, error)
}
