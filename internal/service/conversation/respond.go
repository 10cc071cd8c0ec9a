package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// response is what a model said in a step, and what follows from it.
type response struct {
	step   agent.Step
	reason agent.Reason // of an end, when the model was told to answer without tools
	base   Base
	more   bool // another part of the work comes after the one that it is about
	said   Step
	done   bool   // all of it is stored
	ended  *Ended // with it the run has

	overflow *CompactionPlan // there is none: the model has said that the conversation is too long for it
}

// unusable tells that the model has neither answered nor called anything.
func (r *response) unusable() bool {
	return r.said.Content == "" && (len(r.said.Calls) == 0 || r.step.Toolless)
}

// ends is how the response closes its run, nil when it does not.
func (r *response) ends() *ending {
	switch {
	case r.unusable():
		return nil
	case r.step.Toolless: // whatever it called will not run
		return &ending{reason: r.reason, said: &r.said, answer: r.said.Content}
	case len(r.said.Calls) == 0 && r.more && !r.step.Last:
		return nil
	case len(r.said.Calls) == 0 && r.more: // the budget ends before the work does
		return &ending{reason: agent.Exhausted, said: &r.said}
	case len(r.said.Calls) == 0:
		return &ending{reason: agent.Final, said: &r.said, answer: r.said.Content}
	}
	return nil
}

// conclude stores a response and, when it is the last, closes the run; with more
// in the same transaction, once the run is held.
func (s *Service) conclude(ctx context.Context, j *runState, r *response, more func(context.Context, Tx) error) (err error) {
	if e := r.ends(); e != nil {
		e.keep = more
		r.ended, err = s.close(ctx, j, r.base, *e)
		return err
	}
	return s.whileOpen(ctx, j, func(ctx context.Context, tx Tx) error {
		if more != nil {
			if err := more(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Steps().PutStep(ctx, j.run.Ref.Run, r.said)
	})
}

// respond asks the model. When it was too much a turn's conversation is to be made
// shorter; what is too much even then is asked once more with less history.
func (s *Service) respond(ctx context.Context, j *runState, r *response) error {
	note := ""
	if r.step.Toolless && r.step.N > 1 {
		note = prompt.LastCall(j.spec.Lang, j.spec.Channel)
	} else if r.step.Left > 0 {
		note = prompt.Checkpoint(j.spec.Lang, r.step.Left)
	}
	ask := func(suffix string, short bool) (llm.Reply, error) {
		request := func() (llm.Request, error) { return j.request(r.step, note, short), nil }
		if j.agent != nil {
			brief, err := s.brief(ctx, j, r.step, note, short)
			if err != nil {
				return llm.Reply{}, err
			}
			request = func() (llm.Request, error) { return brief, nil }
		}
		key := run.CallKey{Ref: j.run.Ref, Step: fmt.Sprintf("step/%d%s", r.step.N, suffix)}
		return s.call(ctx, j, key, request, s.keeper(j, r, note, key))
	}
	reply, err := ask("", false)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Class == llm.ContextLength && j.run.Kind != run.Nudge {
		if over, begun := s.shorten(ctx, j, r.step, r.base, j.spec.Limits.history()/shortPart); begun != nil || over != nil {
			r.overflow = over
			return begun
		}
		reply, err = ask("/short", true)
	}
	if err == nil && !r.done {
		r.said = j.read(r.step, note, reply)
	}
	return err
}

// call stores the request with what the model is told by it, sends it and has the
// reply kept.
func (s *Service) call(ctx context.Context, j *runState, k run.CallKey, request func() (llm.Request, error), keep ledger.StoreReply) (llm.Reply, error) {
	var (
		wanted    ledger.CallRequest
		admission ledger.Admission
	)
	err := s.Store.WithConversations(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		if err := j.resume(ctx, tx, true); err != nil {
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
	j.untold = nil
	if j.run.Kind == run.Turn {
		metrics.RecordPromptPrefix(j.run.Conversation, j.session.SHA, time.Now())
	}
	return s.Ledger.Execute(ctx, wanted, admission, keep)
}

// resume holds a run that goes on, and stores what its next request tells. A turn
// that asks with a session that was revoked is refused.
func (j *runState) resume(ctx context.Context, tx Tx, asks bool) error {
	in := StepResume{}
	for _, c := range j.untold {
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
		*j.untold[i] = c
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
func (s *Service) keeper(j *runState, r *response, note string, k run.CallKey) ledger.StoreReply {
	return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
		mine := *r
		mine.said = j.read(r.step, note, reply)
		ends := mine.ends() != nil
		if ends && j.agent != nil {
			return s.Ledger.Store.EndCall(ctx, k, reply, cost)
		}
		err = s.conclude(ctx, j, &mine, func(ctx context.Context, tx Tx) error {
			if stored, err = tx.Calls().StoreReply(ctx, k, reply, cost); err != nil {
				return err
			}
			// The store leaves out what it cannot hold.
			if mine.said = j.read(r.step, note, stored); (mine.ends() != nil) != ends {
				return ledger.ErrReplyExists
			}
			return nil
		})
		if err == nil {
			mine.done = true
			*r = mine
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
