package distill

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
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
	// what is made of the answer that was decoded last; nil when that takes more than writing it down
	save   func(ctx context.Context, tx Tx) error
	opened *ledger.AdmittedCall // in the transaction that read what is asked about
}

// open stores q's request with what its transaction does, unless it has to wait
// for a place among the run's calls.
func (s *Service) open(ctx context.Context, tx Tx, j job, q *question) error {
	req, err := j.request(*q)
	if err != nil {
		return err
	}
	var o ledger.AdmittedCall
	o.Request, err = s.Ledger.Prepare(run.CallKey{Ref: j.run.Ref, Step: q.step}, req, j.spec.Limits.Parallel)
	if err != nil {
		return err
	}
	if o.Admission, err = tx.Calls().AdmitCall(ctx, o.Request); err != nil {
		return fmt.Errorf("open ledger entry %s: %w", q.step, err)
	}
	q.opened = &o
	return nil
}

// ask puts q to its model, at most Repairs times more when the answer does not
// decode, and once more with less text when it was too long for the model. What is
// made of the answer is stored together with it.
func (s *Service) ask(ctx context.Context, j job, q question) error {
	err := s.askRounds(ctx, j, q)
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Class != llm.ContextLength {
		return err
	}
	q.step += "/short"
	q.material, q.opened = shortened(q.material), nil
	return s.askRounds(ctx, j, q)
}

func (s *Service) askRounds(ctx context.Context, j job, q question) error {
	req, err := j.request(q)
	if err != nil {
		return err
	}
	asked := ledger.Question{Run: j.run.Ref, Step: q.step, Lang: q.lang, Request: req, Parallel: j.spec.Limits.Parallel,
		Repairs: j.spec.Limits.Repairs, Decode: q.decode, Admitted: q.opened}
	saved := false
	if q.save != nil {
		asked.StoreReply = func(k run.CallKey) ledger.StoreReply {
			return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
				stored, err = s.keep(ctx, q, k, reply, cost)
				saved = err == nil
				return stored, err
			}
		}
	}
	_, problem, err := s.Ledger.Ask(ctx, asked)
	if err == nil && problem != nil {
		return fault.New(fault.ModelInvalid, fmt.Sprintf("%s: no usable answer after %d repairs: %v", q.step,
			j.spec.Limits.Repairs, problem), "")
	}
	if err != nil || saved || q.save == nil {
		return err
	}
	return s.Store.Within(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error { return q.save(ctx, tx) })
}

// keep stores a reply with what is made of it. One that nothing is made of is the
// ledger's to store alone.
func (s *Service) keep(ctx context.Context, q question, k run.CallKey, reply llm.Reply, cost *int64) (stored llm.Reply,
	err error) {
	err = s.Store.Within(ctx, k.Workspace, func(ctx context.Context, tx Tx) error {
		if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
			return err
		}
		// The store leaves out what it cannot hold.
		if stored.Refusal != "" || q.decode(stored.Text) != nil {
			return ledger.ErrReplyExists
		}
		return q.save(ctx, tx)
	})
	return stored, err
}

func (j job) request(q question) (llm.Request, error) {
	user, err := prompt.User(q.material)
	if err != nil {
		return llm.Request{}, fmt.Errorf("render the material of %s: %w", q.step, err)
	}
	return llm.Request{
		Model: j.spec.Models[q.role], System: j.spec.Instructions[instructionKey(q.stage, q.lang)],
		Messages: llm.User(user),
		Schema:   &llm.Schema{Name: q.stage.Schema(), JSON: prompt.Schema(q.stage)},
		Label:    llm.Label{Stage: q.role, Run: fmt.Sprint(j.run.Ref.Run), Task: q.task, File: q.file},
	}, nil
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
