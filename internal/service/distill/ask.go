package distill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// question is the model call of one stage, with its repairs.
type question struct {
	step     string // key in the ledger
	stage    prompt.Stage
	role     string // selects the model: segment, notes, extract, merge, files, judge or compare
	task     string
	lang     string
	view     // of the transcript, before the instructions; without messages, the request has one part
	material prompt.Material
	decode   func(text string) error // an error describes to the model what is wrong with its output
	// save stores the decoded output. It is nil if that takes more than one write.
	save   func(ctx context.Context, tx store.Tx) error
	opened *ledger.AdmittedCall // call admitted in the transaction that read its input
}

// show sets the view of a question to the only one of views.
func (q *question) show(views []view) {
	if len(views) == 1 {
		q.view, q.material.Ranges = views[0], views[0].ranges
	}
}

// open stores the request of q in the current transaction, unless the run has reached its limit of
// parallel calls.
func (s *Service) open(ctx context.Context, tx store.Tx, j job, q *question) error {
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
	q.opened = nil
	q.clip()
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
				stored, err = s.keep(ctx, j, q, k, reply, cost)
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
	return s.Store.InWorkspaceByKeys(ctx, j.run.Workspace, func(ctx context.Context,
		tx store.Tx) error {
		return q.save(ctx, tx)
	})
}

// keep stores a reply and its decoded output in one transaction. A reply that does not decode is
// stored by the ledger alone.
func (s *Service) keep(ctx context.Context, j job, q question, k run.CallKey, reply llm.Reply,
	cost *int64) (stored llm.Reply, err error) {
	err = s.Store.InWorkspaceByKeys(ctx, k.Workspace, func(ctx context.Context, tx store.Tx) error {
		if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
			return err
		}
		// The store removes characters that it cannot hold.
		if stored.Refusal != "" || stored.Truncated() || q.decode(stored.Text) != nil {
			return modelcall.ErrReplyExists
		}
		return q.save(ctx, tx)
	})
	if err == nil && q.shared {
		s.caches.note(j.spec.Models[q.role], reply.Usage, q.stage == prompt.Segment)
	}
	return stored, err
}

// request renders q. Requests of a run begin with the same system message and, if they share a window, with the
// same first part of the user message.
func (j job) request(q question) (llm.Request, error) {
	q.material = j.fit(q.material)
	step, err := prompt.Step(j.spec.Instructions[instructionKey(q.stage, q.lang)], prompt.Schema(q.stage), q.material)
	if err != nil {
		return llm.Request{}, fmt.Errorf("render the material of %s: %w", q.step, err)
	}
	message := llm.Message{Role: llm.RoleUser, Content: step}
	key := ""
	if len(q.window) > 0 {
		if message.Prefix, err = prompt.Window(q.window); err != nil {
			return llm.Request{}, fmt.Errorf("render the window of %s: %w", q.step, err)
		}
		if q.shared && j.spec.Cache != CacheOff {
			key = cacheKey(j.run.Workspace, message.Prefix)
		}
	}
	system := instructionKey(prompt.Distill, lang.OfMessages(transcript.NonEmpty(j.conv.Messages)))
	return llm.Request{
		Model: j.spec.Models[q.role], System: j.spec.Instructions[system], Messages: []llm.Message{message},
		JSON: true, Constant: true, CacheKey: key, Label: llm.Label{Stage: q.role, Run: j.run.Ref.Run, Task: q.task},
	}, nil
}

// cacheKey identifies a window of a workspace: the first 32 hexadecimal digits of a SHA-256.
func cacheKey(ws int64, window string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", ws, window))
	return hex.EncodeToString(sum[:16])
}

// fit drops the oldest history and the least similar candidates of a material that is too long.
func (j job) fit(m prompt.Material) prompt.Material {
	limit := j.spec.Limits.context() * extraShare / 100
	for sizeOf(m) > limit {
		switch {
		case len(m.History) > 0:
			m.History = m.History[(len(m.History)+1)/2:]
		case len(m.Candidates) > 1:
			m.Candidates = m.Candidates[:len(m.Candidates)-1]
		default: // findings, a draft or one candidate, which have limits of their own
			return m
		}
	}
	return m
}

func sizeOf(m prompt.Material) int {
	m.Findings = nil
	text, _ := prompt.User(m) // a material always encodes
	return lang.MaxTokens(text)
}

// shortChars is the length to which messages are clipped if the input was too long.
const shortChars = 300

// clip shortens the texts of a question whose input was too long.
func (q *question) clip() {
	all := func(in []prompt.Message) []prompt.Message {
		out := make([]prompt.Message, len(in))
		for i, m := range in {
			out[i] = clipped(m, shortChars)
		}
		return out
	}
	q.window, q.material.Messages, q.material.History = all(q.window), all(q.material.Messages), nil
	q.shared = false
}
