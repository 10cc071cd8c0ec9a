package evolve

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/fault"
	"cairn/internal/llm"
	"cairn/internal/prompt"
	"cairn/internal/run"
	"cairn/schemas"
)

// question is one model call with its repairs.
type question struct {
	step     string // its place in the ledger
	stage    prompt.Stage
	lang     string
	material prompt.Material
	parallel int
	heat     float64                 // temperature
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
		Schema: &llm.Schema{Name: q.stage.Schema(), JSON: schemas.Model(q.stage.Schema())}, Label: llm.Label{Stage: string(q.stage), Run: fmt.Sprint(ref.Run), Task: q.step}}
	if q.heat > 0 {
		req.Temperature = &q.heat
	}
	for round := 0; ; round++ {
		reply, err := s.Ledger.Call(ctx, run.CallKey{Ref: ref, Step: q.step, Round: round}, req, q.parallel)
		if err != nil {
			return "", nil, err
		}
		if reply.Refusal != "" {
			return "", nil, fault.New(fault.ModelRefused, fmt.Sprintf("%s: the model declined", q.step), "")
		}
		if q.decode != nil {
			problem = q.decode(reply.Text)
		}
		if problem == nil || round >= m.Repairs {
			return reply.Text, problem, nil
		}
		req.Messages = append(req.Messages, llm.Repair(q.lang, reply.Text, problem)...)
	}
}

// hopeless is trouble that another attempt would only meet again.
func hopeless(err error) (*fault.Error, bool) {
	var model *llm.Error
	if errors.As(err, &model) {
		f := model.Fault()
		return f, !fault.Table[f.Code].Retryable
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	switch f.Code {
	case fault.ModelInvalid, fault.ModelRefused, fault.ModelRejected, fault.ModelAuth, fault.ModelContext, fault.QuotaExceeded, fault.OpReused:
		return f, true
	}
	return nil, false
}
