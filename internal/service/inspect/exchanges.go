package inspect

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Exchange is a model call with its request and reply. Secrets are replaced, except by Unmasked.
type Exchange struct {
	run.Call
	Erased   bool          // a part of the request was erased, so it has no messages
	Earlier  int           // messages that the round before has, too
	Messages []llm.Message // the others; instructions have the role system
	Tools    []string      // that the request offers
	Reply    *llm.Reply    // nil without one
	// Rejected reports that the reply was not valid. The last message of the next round says why.
	Rejected bool
}

// Exchanges returns the model calls of a run in their order, or of one of its steps.
func (s *Runs) Exchanges(ctx context.Context, ref run.Ref, step string) ([]Exchange, error) {
	return s.exchanges(ctx, ref, step, guard.NewRedactor(guard.Options{}))
}

// Unmasked is Exchanges with all secrets. Record the act in the audit log before you show the result.
func (s *Runs) Unmasked(ctx context.Context, ref run.Ref, step string) ([]Exchange, error) {
	return s.exchanges(ctx, ref, step, nil)
}

func (s *Runs) exchanges(ctx context.Context, ref run.Ref, step string, redactor *guard.Redactor) (out []Exchange,
	err error) {
	var stored []readmodel.StoredExchange
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		r, err := q.Runs().RunState(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Pruned != "" {
			return fault.New(fault.NotFound, fmt.Sprintf("the model calls of run %s were removed after their retention",
				ref.Run), "set CAIRN_RETENTION_CALLS of the workers to keep later ones longer")
		}
		stored, err = q.Calls().Exchanges(ctx, ref, step)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 && step != "" {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("run %s has no call of step %.80q", ref.Run, step),
			"`cairn runs show "+ref.Run+"` lists the steps")
	}
	before := map[string][]llm.Message{} // of the round before, by step
	for _, e := range stored {
		one, messages, err := openExchange(e, redactor, before[e.Key.Step])
		if err != nil {
			return nil, err
		}
		before[e.Key.Step] = messages
		if at := slices.IndexFunc(out, func(o Exchange) bool {
			return o.Key.Step == e.Key.Step && o.Key.Round == e.Key.Round-1
		}); at >= 0 {
			out[at].Rejected = out[at].Reply != nil
		}
		out = append(out, one)
	}
	return out, nil
}

// openExchange decodes a stored exchange. It also returns all messages of the request.
func openExchange(e readmodel.StoredExchange, redactor *guard.Redactor, before []llm.Message) (out Exchange,
	all []llm.Message,
	err error) {
	out = Exchange{Call: e.Call, Erased: e.Request == ""}
	var asked llm.ParsedRequest
	if !out.Erased {
		if asked, err = llm.ReadAsked([]byte(e.Request)); err != nil {
			return out, nil, fmt.Errorf("decode the request of step %s: %w", e.Key.Step, err)
		}
	}
	for i := range asked.Messages {
		hide(redactor, &asked.Messages[i].Content, asked.Messages[i].Calls)
	}
	all = asked.Messages
	for out.Earlier < min(len(before), len(all)) && same(before[out.Earlier], all[out.Earlier]) {
		out.Earlier++
	}
	out.Messages = all[out.Earlier:]
	for _, t := range asked.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	if e.Reply != nil {
		reply := *e.Reply
		hide(redactor, &reply.Text, reply.Calls)
		out.Reply = &reply
	}
	return out, all, nil
}

func same(a, b llm.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.CallID == b.CallID && slices.Equal(a.Calls, b.Calls)
}

// hide replaces secrets in a text and in the arguments of calls, unless there is no redactor.
func hide(redactor *guard.Redactor, text *string, calls []llm.ToolCall) {
	if redactor == nil {
		return
	}
	*text, _ = redactor.Redact(*text)
	for i := range calls {
		calls[i].Arguments, _ = redactor.Redact(calls[i].Arguments)
	}
}
