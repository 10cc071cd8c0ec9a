package learning

import (
	"context"
	"fmt"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// question is one model call with its repairs.
type question struct {
	step     string // its place in the ledger
	stage    prompt.Stage
	lang     string
	material prompt.Material
	parallel int
	heat     float64                 // temperature: 0 unless something else is to come than before
	decode   func(text string) error // says what is wrong with an answer, in words for the model; nil takes any
}

// ask puts q to the run's model, once more for each repair that is allowed when
// the answer does not decode. The last answer is returned with its problem.
func (s *Service) ask(ctx context.Context, ref run.Ref, m Model, q question) (text string, problem, err error) {
	user, err := prompt.User(q.material)
	if err != nil {
		return "", nil, fmt.Errorf("render the material of %s: %w", q.step, err)
	}
	req := llm.Request{Model: m.Name, System: m.Instructions[instructionKey(q.stage, q.lang)], Messages: llm.User(user),
		Schema: &llm.Schema{Name: q.stage.Schema(), JSON: prompt.Schema(q.stage)}, Label: llm.Label{Stage: string(q.stage), Run: fmt.Sprint(ref.Run), Task: q.step}}
	req.Temperature = &q.heat
	return s.Ledger.Ask(ctx, ledger.Question{Run: ref, Step: q.step, Lang: q.lang, Request: req, Parallel: q.parallel, Repairs: m.Repairs, Decode: q.decode})
}
