package agentrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// response is the response of a model in a step.
type response struct {
	step   run.Step
	stored bool
	ended  *run.Result // set if the response closed the run

	overflow *contract.OffloadToStart // set if there is no response: the model rejected the conversation as too long
}

// conclude stores a response and closes the run if the response is the last. More runs in the same
// transaction while the run is locked.
func (s *Service) conclude(ctx context.Context, st *runState, plan promptPlan, base contract.ConversationBase,
	resp *run.Step, more func(context.Context, store.Tx) error) (*run.Result, error) {
	if e := plan.ends(resp); e != nil {
		e.extra = more
		return s.close(ctx, st, base, *e)
	}
	return nil, s.whileOpen(ctx, st, func(ctx context.Context, tx store.Tx) error {
		if more != nil {
			if err := more(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Steps().PutStep(ctx, st.run.Ref.Run, *resp)
	})
}

// callModel calls the model, unless an earlier attempt has stored its response. If the endpoint
// rejects the request of a turn as too long, the conversation is compacted. Otherwise the request
// is sent once more with less history.
func (s *Service) callModel(ctx context.Context, st *runState, plan promptPlan,
	base contract.ConversationBase) (response, error) {
	if plan.response != nil {
		return response{step: *plan.response}, nil
	}
	out, err := s.ask(ctx, st, plan, base, "", false)
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Class != llm.ContextLength || st.run.Kind == run.Nudge {
		return out, err
	}
	if over, err := s.shorten(ctx, st, plan.step, base, st.spec.Limits.history()/shortPart); err != nil || over != nil {
		return response{overflow: over}, err
	}
	plan.unsent = nil // stored with the first request
	return s.ask(ctx, st, plan, base, "/short", true)
}

// ask makes one model call. Its reply is stored together with the resulting response.
func (s *Service) ask(ctx context.Context, st *runState, plan promptPlan, base contract.ConversationBase,
	suffix string, short bool) (out response, err error) {
	request := func() (llm.Request, error) { return st.request(plan.step, plan.note, 0, short), nil }
	if st.agent != nil {
		brief, err := s.brief(ctx, st, plan.step, plan.note, short)
		if err != nil {
			return out, err
		}
		request = func() (llm.Request, error) { return brief, nil }
	}
	key := run.CallKey{Ref: st.run.Ref, Step: fmt.Sprintf("step/%d%s", plan.step.N, suffix)}
	reply, err := s.call(ctx, st, plan, key, request, s.keeper(st, plan, base, key, &out))
	if err == nil && !out.stored {
		out.step = st.read(plan.step, plan.note, reply)
	}
	return out, err
}

// call stores the request together with pending tool results, sends it and stores the reply.
func (s *Service) call(ctx context.Context, st *runState, plan promptPlan, k run.CallKey,
	request func() (llm.Request, error), keep ledger.StoreReply) (llm.Reply, error) {
	var (
		wanted    modelcall.Request
		admission modelcall.Admission
	)
	err := s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := st.resume(ctx, tx, plan.unsent, true); err != nil {
			return err
		}
		asked, err := request()
		if err != nil {
			return err
		}
		asked.Stream = st.spec.Stream && s.Replies != nil
		if wanted, err = s.Ledger.Prepare(k, asked, 0); err != nil {
			return err
		}
		admission, err = tx.Calls().AdmitCall(ctx, wanted)
		return err
	})
	if err != nil {
		return llm.Reply{}, fmt.Errorf("store the request of %s: %w", k.Step, err)
	}
	if st.run.Kind == run.Turn {
		metrics.RecordPromptPrefix(st.run.Conversation, st.session.SHA, time.Now())
	}
	if wanted.Asked.Stream {
		wanted.Emit = s.Replies.Open(st.run.Ref, plan.step.N, admission.Attempt)
	}
	return s.Ledger.Execute(ctx, wanted, admission, keep)
}

// resume locks the run and stores the tool results and the session of its next request. It returns
// errRevoked if the session was revoked.
func (st *runState) resume(ctx context.Context, tx store.Tx, unsent []*run.ToolCall, asks bool) error {
	in := conversation.StepResume{}
	for _, c := range unsent {
		in.Calls = append(in.Calls, *c)
	}
	if st.run.Kind == run.Turn && !st.hasSession {
		in.Session = st.session.ID
	}
	if asks && st.hasSession {
		in.Kept = st.session.ID
	}
	pins := st.run.Kind == run.Turn && st.turn.Context == ""
	if pins {
		in.Turn, in.Frozen = &st.turn, st.session.CreatedAt
	}
	out, open, err := tx.Steps().Resume(ctx, st.run.Ref.Run, in)
	switch {
	case err == nil && !open:
		err = errEnded
	case err == nil && out.Kept != in.Kept:
		err = errRevoked
	}
	if err != nil {
		return err
	}
	for i, c := range out.Calls {
		*unsent[i] = c
	}
	if out.Session != in.Session { // another attempt stored a session first
		if st.session, err = tx.Sessions().SessionByID(ctx, out.Session); err != nil {
			return err
		}
		if pins {
			if out.News, err = tx.Turns().News(ctx, st.turn, st.session.CreatedAt); err != nil {
				return err
			}
		}
	}
	switch {
	case !pins:
		return nil
	case out.Context != "": // stored by another attempt
		st.turn.Context = out.Context
		return nil
	}
	return st.pinContext(ctx, tx, out.News)
}

// keeper returns the function that stores a reply and the response in one transaction. The last
// reply of a memory agent is stored alone, because the end of such a run is read outside of it.
func (s *Service) keeper(st *runState, plan promptPlan, base contract.ConversationBase, k run.CallKey,
	out *response) ledger.StoreReply {
	return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
		resp := st.read(plan.step, plan.note, reply)
		ends := plan.ends(&resp) != nil
		if ends && st.agent != nil {
			return s.Ledger.Store.EndCall(ctx, k, reply, cost)
		}
		ended, err := s.conclude(ctx, st, plan, base, &resp, func(ctx context.Context, tx store.Tx) error {
			if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
				return err
			}
			// The store removes characters that it cannot hold.
			if resp = st.read(plan.step, plan.note, stored); (plan.ends(&resp) != nil) != ends {
				return modelcall.ErrReplyExists
			}
			return nil
		})
		if err == nil {
			*out = response{step: resp, stored: true, ended: ended}
		}
		return stored, err
	}
}

// read converts a reply into a step of the run.
func (st *runState) read(step agent.Step, note string, reply llm.Reply) run.Step {
	out := run.Step{N: step.N, Note: note, Content: strings.TrimSpace(reply.Text), Finish: reply.Finish}
	if reply.Refusal != "" { // the user gets the endpoint's text
		out.Content = strings.TrimSpace(reply.Refusal)
		return out
	}
	if step.Toolless { // calls that an endpoint returns in spite of tool_choice none are dropped
		return out
	}
	classes := map[string]agent.Class{}
	for _, t := range st.tools.Offered(st.spec.Origin) {
		classes[t.Name] = st.class(t.Class)
	}
	for _, t := range st.spec.Client.Tools {
		classes[t.Name] = agent.Client
	}
	for i, c := range reply.Calls {
		class, known := classes[c.Name]
		if !known { // gets an error at once
			class = agent.Fast
		}
		out.Calls = append(out.Calls, run.ToolCall{Step: step.N, Position: i, ID: c.ID, Tool: c.Name, Class: class,
			Arguments: c.Arguments})
	}
	return out
}
