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

// question is the model call of one stage, with its repairs.
type question struct {
	step     string // key in the ledger
	stage    prompt.Stage
	role     string // selects the model: chunk, rewrite, extract, scripts or doc
	task     string
	file     string
	lang     string
	material prompt.Material
	decode   func(text string) error // an error describes to the model what is wrong with its output
	// save stores the decoded output. It is nil if that takes more than one write.
	save   func(ctx context.Context, tx Tx) error
	opened *ledger.AdmittedCall // call admitted in the transaction that read its input
}

// open stores the request of q in the current transaction, unless the run has reached its limit of
// parallel calls.
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

// ask sends q to its model. If the output does not decode, it asks again, at most Repairs times. If
// the input is too long, it asks once more with less text. The decoded output is stored together
// with the reply.
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
		return fault.New(fault.ModelInvalid, fmt.Sprintf("%s: no usable output after %d repairs: %v", q.step,
			j.spec.Limits.Repairs, problem), "")
	}
	if err != nil || saved || q.save == nil {
		return err
	}
	return s.Store.Within(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error { return q.save(ctx, tx) })
}

// keep stores a reply and its decoded output in one transaction. A reply that does not decode is
// stored by the ledger alone.
func (s *Service) keep(ctx context.Context, q question, k run.CallKey, reply llm.Reply, cost *int64) (stored llm.Reply,
	err error) {
	err = s.Store.Within(ctx, k.Workspace, func(ctx context.Context, tx Tx) error {
		if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
			return err
		}
		// The store removes characters that it cannot hold.
		if stored.Refusal != "" || stored.Truncated() || q.decode(stored.Text) != nil {
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
		Label:    llm.Label{Stage: q.role, Run: j.run.Ref.Run, Task: q.task, File: q.file},
	}, nil
}

// shortChars is the length to which messages are clipped if the input was too long.
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
