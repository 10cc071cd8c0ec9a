package distill

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/fault"
	"cairn/internal/ledger"
	"cairn/internal/llm"
	"cairn/internal/prompt"
	"cairn/internal/transcript"
	"cairn/schemas"
)

// question is one stage's model call with its repairs.
type question struct {
	step     string // its place in the ledger
	stage    prompt.Stage
	role     string // whose model answers: chunk, rewrite, extract, scripts, doc
	task     string
	file     string
	lang     string
	material prompt.Material
	decode   func(text string) error // says what is wrong with an answer, in words for the model
}

// ask puts q to its model, at most Repairs times more when the answer does not
// decode, and once more with less text when it was too long for the model.
func (s *Service) ask(ctx context.Context, j job, q question) error {
	err := s.askRounds(ctx, j, q)
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Class != llm.ContextLength {
		return err
	}
	q.step += "/short"
	q.material = shortened(q.material)
	return s.askRounds(ctx, j, q)
}

func (s *Service) askRounds(ctx context.Context, j job, q question) error {
	user, err := prompt.User(q.material)
	if err != nil {
		return fmt.Errorf("render the material of %s: %w", q.step, err)
	}
	req := llm.Request{
		Model: j.spec.Models[q.role], System: j.spec.Instructions[instructionKey(q.stage, q.lang)], Messages: llm.User(user),
		Schema: &llm.Schema{Name: q.stage.Schema(), JSON: schemas.Model(q.stage.Schema())},
		Label:  llm.Label{Stage: q.role, Run: fmt.Sprint(j.run.Ref.Run), Task: q.task, File: q.file},
	}
	_, problem, err := s.Ledger.Ask(ctx, ledger.Question{Run: j.run.Ref, Step: q.step, Lang: q.lang, Request: req, Parallel: j.spec.Limits.Parallel, Repairs: j.spec.Limits.Repairs, Decode: q.decode})
	if err == nil && problem != nil {
		return fault.New(fault.ModelInvalid, fmt.Sprintf("%s: no usable answer after %d repairs: %v", q.step, j.spec.Limits.Repairs, problem), "")
	}
	return err
}

// shortChars is what is left of each message when a model could not take all.
const shortChars = 300

func shortened(m prompt.Material) prompt.Material {
	clip := func(in []prompt.Message) []prompt.Message {
		out := make([]prompt.Message, len(in))
		for i, msg := range in {
			msg.Content = transcript.Clip(msg.Content, shortChars)
			out[i] = msg
		}
		return out
	}
	m.Messages, m.History = clip(m.Messages), nil
	return m
}
