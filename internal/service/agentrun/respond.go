package agentrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// response is what a model said in a step, and what is stored of it.
type response struct {
	said   Step
	stored bool
	ended  *Ended // the run was closed with it

	overflow *CompactionPlan // there is none: the model has said that the conversation is too long for it
}

// conclude stores a response and, when it is the last, closes the run; with more
// in the same transaction, once the run is held.
func (s *Service) conclude(ctx context.Context, j *runState, plan promptPlan, base Base, said *Step, more func(context.Context, Tx) error) (*Ended, error) {
	if e := plan.ends(said); e != nil {
		e.keep = more
		return s.close(ctx, j, base, *e)
	}
	return nil, s.whileOpen(ctx, j, func(ctx context.Context, tx Tx) error {
		if more != nil {
			if err := more(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Steps().PutStep(ctx, j.run.Ref.Run, *said)
	})
}

// callModel asks the model, unless an earlier attempt has stored its response. When
// the request was too much a turn's conversation is to be made shorter; what is too
// much even then is asked once more with less history.
func (s *Service) callModel(ctx context.Context, j *runState, plan promptPlan, base Base) (response, error) {
	if plan.response != nil {
		return response{said: *plan.response}, nil
	}
	out, err := s.ask(ctx, j, plan, base, "", false)
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Class != llm.ContextLength || j.run.Kind == run.Nudge {
		return out, err
	}
	if over, err := s.shorten(ctx, j, plan.step, base, j.spec.Limits.history()/shortPart); err != nil || over != nil {
		return response{overflow: over}, err
	}
	plan.untold = nil // stored with the first request
	return s.ask(ctx, j, plan, base, "/short", true)
}

// ask makes one call of the model. Its reply is stored with what follows from it.
func (s *Service) ask(ctx context.Context, j *runState, plan promptPlan, base Base, suffix string, short bool) (out response, err error) {
	request := func() (llm.Request, error) { return j.request(plan.step, plan.note, 0, short), nil }
	if j.agent != nil {
		brief, err := s.brief(ctx, j, plan.step, plan.note, short)
		if err != nil {
			return out, err
		}
		request = func() (llm.Request, error) { return brief, nil }
	}
	key := run.CallKey{Ref: j.run.Ref, Step: fmt.Sprintf("step/%d%s", plan.step.N, suffix)}
	reply, err := s.call(ctx, j, plan.untold, key, request, s.keeper(j, plan, base, key, &out))
	if err == nil && !out.stored {
		out.said = j.read(plan.step, plan.note, reply)
	}
	return out, err
}

// call stores the request with what the model is told by it, sends it and has the
// reply kept.
func (s *Service) call(ctx context.Context, j *runState, untold []*Call, k run.CallKey, request func() (llm.Request, error), keep ledger.StoreReply) (llm.Reply, error) {
	var (
		wanted    ledger.CallRequest
		admission ledger.Admission
	)
	err := s.Store.WithRuns(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		if err := j.resume(ctx, tx, untold, true); err != nil {
			return err
		}
		asked, err := request()
		if err != nil {
			return err
		}
		if wanted, err = s.Ledger.Prepare(k, asked, 0); err != nil {
			return err
		}
		admission, err = tx.Calls().AdmitCall(ctx, wanted)
		return err
	})
	if err != nil {
		return llm.Reply{}, fmt.Errorf("store the request of %s: %w", k.Step, err)
	}
	if j.run.Kind == run.Turn {
		metrics.RecordPromptPrefix(j.run.Conversation, j.session.SHA, time.Now())
	}
	return s.Ledger.Execute(ctx, wanted, admission, keep)
}

// resume holds a run that goes on, and stores what its next request tells. A turn
// that asks with a session that was revoked is refused.
func (j *runState) resume(ctx context.Context, tx Tx, untold []*Call, asks bool) error {
	in := StepResume{}
	for _, c := range untold {
		in.Calls = append(in.Calls, *c)
	}
	if j.run.Kind == run.Turn && !j.kept {
		in.Session = j.session.ID
	}
	if asks && j.kept {
		in.Kept = j.session.ID
	}
	pins := j.run.Kind == run.Turn && j.turn.Context == ""
	if pins {
		in.Turn, in.Frozen = &j.turn, j.session.CreatedAt
	}
	out, open, err := tx.Steps().Resume(ctx, j.run.Ref.Run, in)
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
		*untold[i] = c
	}
	if out.Session != in.Session { // another attempt was first to keep one
		if j.session, err = tx.Sessions().SessionByID(ctx, out.Session); err != nil {
			return err
		}
		if pins {
			if out.News, err = tx.Turns().News(ctx, j.turn, j.session.CreatedAt); err != nil {
				return err
			}
		}
	}
	switch {
	case !pins:
		return nil
	case out.Context != "": // by another attempt
		j.turn.Context = out.Context
		return nil
	}
	return j.pinContext(ctx, tx, out.News)
}

// keeper stores a reply with what follows from it, in one transaction. What an
// agent of long-term memory ends with is read outside of it: its last reply is
// stored alone.
func (s *Service) keeper(j *runState, plan promptPlan, base Base, k run.CallKey, out *response) ledger.StoreReply {
	return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
		said := j.read(plan.step, plan.note, reply)
		ends := plan.ends(&said) != nil
		if ends && j.agent != nil {
			return s.Ledger.Store.EndCall(ctx, k, reply, cost)
		}
		ended, err := s.conclude(ctx, j, plan, base, &said, func(ctx context.Context, tx Tx) error {
			if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
				return err
			}
			// The store leaves out what it cannot hold.
			if said = j.read(plan.step, plan.note, stored); (plan.ends(&said) != nil) != ends {
				return ledger.ErrReplyExists
			}
			return nil
		})
		if err == nil {
			*out = response{said: said, stored: true, ended: ended}
		}
		return stored, err
	}
}

// read is a reply as a response of the run.
func (j *runState) read(step agent.Step, note string, reply llm.Reply) Step {
	out := Step{N: step.N, Note: note, Content: strings.TrimSpace(reply.Text), Finish: reply.Finish}
	if reply.Refusal != "" { // the person is told, in the endpoint's words
		out.Content = strings.TrimSpace(reply.Refusal)
		return out
	}
	if step.Toolless { // what an endpoint calls although it must not is not run, and not told
		return out
	}
	classes := map[string]agent.Class{}
	for _, t := range j.tools.Offered(j.spec.Origin) {
		classes[t.Name] = j.class(t.Class)
	}
	for i, c := range reply.Calls {
		class, known := classes[c.Name]
		if !known { // answered with an error, at once
			class = agent.Fast
		}
		out.Calls = append(out.Calls, Call{Step: step.N, Position: i, ID: c.ID, Tool: c.Name, Class: class, Arguments: c.Arguments})
	}
	return out
}
