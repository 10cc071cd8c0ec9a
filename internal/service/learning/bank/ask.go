package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// Asker makes each model call once.
type Asker interface {
	Ask(ctx context.Context, q ledger.Question) (text string, problem, err error)
}

// Question is one model call with its repairs.
type Question struct {
	Step        string // ledger key
	Stage       prompt.Stage
	Lang        string
	Material    prompt.Material
	Temperature float64                 // 0, or higher to get another reply
	Decode      func(text string) error // returns the problem of a reply, in words for the model; nil accepts any reply
}

// Ask sends q to model m of a run. If the reply does not decode, Ask repeats the call up to the
// number of repairs. It returns the last reply and its problem.
func Ask(ctx context.Context, a Asker, m Model, ref run.Ref, q Question) (text string, problem, err error) {
	user, err := prompt.User(q.Material)
	if err != nil {
		return "", nil, fmt.Errorf("render the material of %s: %w", q.Step, err)
	}
	req := llm.Request{Model: m.Name, System: m.Instructions[InstructionKey(q.Stage, q.Lang)],
		Messages: llm.User(user), Schema: &llm.Schema{Name: q.Stage.Schema(), JSON: prompt.Schema(q.Stage)},
		Label: llm.Label{Stage: string(q.Stage), Run: ref.Run, Task: q.Step}, Temperature: &q.Temperature}
	return a.Ask(ctx, ledger.Question{Run: ref, Step: q.Step, Lang: q.Lang, Request: req, Repairs: m.Repairs,
		Decode: q.Decode})
}
