package agentrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// ending describes how a run is closed.
type ending struct {
	reason agent.Reason
	detail string
	step   *run.Step // the response that closes the run, not stored yet
	answer string    // if empty, the reply is taken from earlier steps or a canned text
	told   bool      // answer states which files were not read
	// stores more in the closing transaction; if the run has ended, close returns errEnded
	extra func(context.Context, store.Tx) error
}

// Close ends a run without a final response: it was canceled, its time limit passed, or its model
// did not reply. Committed changes are kept, and a turn still gets a reply.
func (s *Service) Close(ctx context.Context, in contract.CloseAgentInput) (contract.AgentResult, error) {
	out, err := s.closeRun(ctx, in)
	if err != nil {
		return contract.AgentResult{}, err
	}
	return ResultOf(*out), nil
}

// CountTurn ends an observed turn.
func (s *Service) CountTurn(ctx context.Context, in contract.CountInput) (contract.AgentResult, error) {
	return s.Close(ctx, contract.CloseAgentInput{RunRef: in.RunRef, Reason: contract.Observed, Base: in.Base})
}

// ResultOf returns the part of a result that workflows know.
func ResultOf(r run.Result) contract.AgentResult {
	return contract.AgentResult{
		Reason: r.Reason, Steps: r.Steps, Saved: len(r.Writes), ReplySeq: r.ReplySeq,
		Counters: r.Counters, MayNudge: r.MayNudge, Status: r.Status,
	}
}

// encoded is ResultOf for a run that may be open.
func encoded(r *run.Result) *contract.AgentResult {
	if r == nil {
		return nil
	}
	out := ResultOf(*r)
	return &out
}

func (s *Service) closeRun(ctx context.Context, in contract.CloseAgentInput) (*run.Result, error) {
	st, err := s.loadRun(ctx, in.Ref())
	if err != nil {
		return nil, err
	}
	if st.run.Status == run.Ended {
		return st.ended()
	}
	e := ending{reason: in.Reason, detail: in.Detail}
	if in.Reason == agent.Interrupted && st.spec.Stream && s.Replies != nil { // what the caller has read is the reply
		if e.answer, err = s.Replies.Written(ctx, in.Ref(), len(st.steps)); err != nil {
			return nil, err
		}
	}
	return s.close(ctx, st, in.Base, e)
}

// Await returns the result of a run that has ended. Until then it returns an error with code
// Unavailable, and the caller retries.
func (s *Service) Await(ctx context.Context, in contract.RunRef) (out contract.AgentResult, err error) {
	st := &runState{}
	err = s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		st.run, err = tx.Runs().Run(ctx, in.Run)
		return err
	})
	if err != nil {
		return out, err
	}
	if st.run.Status != run.Ended {
		return out, fault.New(fault.Unavailable, fmt.Sprintf("run %s has not ended yet", in.Run), "")
	}
	ended, err := st.ended()
	if err != nil {
		return out, err
	}
	return ResultOf(*ended), nil
}

// ended decodes the result of a run that has ended.
func (st *runState) ended() (*run.Result, error) {
	out := &run.Result{}
	if err := json.Unmarshal(st.run.Result, out); err != nil {
		return nil, fmt.Errorf("decode the result of run %s: %w", st.run.Ref.Run, err)
	}
	return out, nil
}

// close ends a run. If another attempt has ended it already, close returns the stored result.
func (s *Service) close(ctx context.Context, st *runState, base contract.ConversationBase, e ending) (out *run.Result,
	err error) {
	if st.agent != nil {
		return s.closeAgent(ctx, st, e)
	}
	err = s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		var c conversation.Conversation
		over, err := st.settle(ctx, tx, e, &c)
		switch {
		case err != nil:
			return err
		case over:
			out, err = st.ended()
		case st.run.Kind == run.Nudge:
			out, err = st.closeNudge(ctx, tx, c, e)
		default:
			out, err = st.closeTurn(ctx, tx, c, base, e)
		}
		return err
	})
	return out, err
}

// lock locks a run, after its conversation if c is set, and reads its steps. If it fails, the state is
// unchanged, because the ledger repeats a transaction that the database could not run.
func (st *runState) lock(ctx context.Context, tx store.Tx, c *conversation.Conversation) error {
	var locked run.Run
	var steps []run.Step
	var err error
	if c != nil {
		*c, locked, steps, err = tx.Steps().LockTurn(ctx, st.run.Conversation, st.run.Ref.Run, st.turn.FirstSeq)
	} else {
		locked, steps, err = tx.Steps().LockRun(ctx, st.run.Ref.Run)
	}
	if err == nil {
		st.run, st.steps = locked, steps
	}
	return err
}

// settle locks a run, reads its steps and completes the calls that have no stored result. If the
// effect of such a call is stored, it becomes the result; otherwise the operation is voided and can
// no longer take effect. Over is true if the run had already ended. If c is set, the conversation
// is locked before the run.
func (st *runState) settle(ctx context.Context, tx store.Tx, e ending, c *conversation.Conversation) (over bool,
	err error) {
	id := st.run.Ref.Run
	if err := st.lock(ctx, tx, c); err != nil {
		return false, err
	}
	if st.run.Status == run.Ended {
		if e.extra != nil {
			err = errEnded
		}
		return true, err
	}
	if e.extra != nil {
		if err := e.extra(ctx, tx); err != nil {
			return false, err
		}
	}
	if e.step != nil {
		if _, stored := st.step(e.step.N); !stored {
			if err := tx.Steps().PutStep(ctx, id, *e.step); err != nil {
				return false, err
			}
			st.steps = append(st.steps, *e.step)
		}
	}
	for _, s := range st.steps {
		for i, c := range s.Calls {
			if c.Done || c.AtClient() {
				continue
			}
			effect, err := tx.Operations().VoidOp(ctx, st.run.Op(stepKey(c.Step), c.Position))
			if err != nil {
				return false, err
			}
			if c, err = settled(c, effect, e.reason.SkipReason()); err != nil {
				return false, err
			}
			if s.Calls[i], err = tx.Steps().EndCall(ctx, id, c); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// settled returns the call with its stored effect as result, or with the reason why it has none.
func settled(c run.ToolCall, effect json.RawMessage, unrun agent.SkipReason) (run.ToolCall, error) {
	if len(effect) > 0 && c.Class == agent.Isolated { // the command was started and nothing more is recorded
		unrun, effect = agent.SkipUnknown, nil
	}
	if len(effect) == 0 {
		c.Result, c.Code = c.Answer(unrun), string(unrun)
		return c, nil
	}
	result, err := tools.Recorded(effect)
	c.Result, c.Code = string(result.JSON), string(result.Code)
	return c, err
}

// mayNudge reports whether the daily limit allows another review. It reads the count of today only
// if a review can be due.
func mayNudge(ctx context.Context, tx store.Tx, s nudge.Settings, c nudge.Counters) (bool, error) {
	c.InFlight = 0 // the conversation may find that the review in flight is lost
	if memory, skill := nudge.Due(c, s); s.Off || !memory && !skill {
		return !s.Off, nil
	}
	today, err := tx.Conversations().NudgesToday(ctx)
	return today < s.DailyCap, err
}

// redirected reports that a later message has cancelled the turn. The reply to that message answers both.
func (st *runState) redirected(c conversation.Conversation, e ending) bool {
	return st.spec.Redirect && e.reason == agent.Interrupted && c.NextTurn > st.turn.Number+1
}

// closeTurn stores the reply and the counters of a turn and ends it, in one transaction.
func (st *runState) closeTurn(ctx context.Context, tx store.Tx, c conversation.Conversation,
	base contract.ConversationBase, e ending) (*run.Result, error) {
	out := &run.Result{
		Reason:   e.reason,
		Detail:   e.detail,
		Steps:    len(st.steps),
		Writes:   st.writes(),
		Staged:   st.staged(),
		ReplySeq: st.turn.ReplySeq,
		Number:   st.turn.Number,
	}
	t := st.turn
	if t.Mode != contract.Observe {
		var err error
		if out.ReplySeq, err = st.putAnswer(ctx, tx, &c, e); err != nil {
			return nil, err
		}
		t.Facts = st.facts(e, out.Writes)
	}
	counters := c.Counters
	if base.Known {
		counters = nudge.Join(base.Counters, c.Counters)
	}
	out.Counters = nudge.After(counters, t.Facts)
	c.Counters, c.Counts = out.Counters, c.Counts+1
	if err := tx.Conversations().SaveCounters(ctx, c); err != nil {
		return nil, err
	}
	if t.Mode != contract.Observe && c.Notice != "" && st.spec.Channel != "voice" && e.reason != agent.ClientTools {
		if err := tx.Conversations().SetNotice(ctx, t.Conversation, ""); err != nil {
			return nil, err
		}
	}
	t.ReplySeq, t.Reason, t.Tainted = out.ReplySeq, string(e.reason), st.tainted()
	if err := tx.Turns().EndTurn(ctx, t); err != nil {
		return nil, err
	}
	if st.spec.Deliver && t.ReplySeq >= 0 {
		if err := tx.Turns().DeliverReply(ctx, t, st.redirected(c, e)); err != nil {
			return nil, err
		}
	}
	may, err := mayNudge(ctx, tx, st.spec.Settings, out.Counters)
	if err != nil {
		return nil, err
	}
	out.MayNudge = may
	return out, tx.Runs().EndRun(ctx, st.run.Ref.Run, OutcomeOf(e.reason), e.detail, out)
}

// putAnswer adds the messages of the turn to the conversation and returns the position of the reply.
func (st *runState) putAnswer(ctx context.Context, tx store.Tx, c *conversation.Conversation, e ending) (reply int,
	err error) {
	messages := st.answer(e, c.Notice)
	Number(messages, c.NextSeq)
	if err := tx.Transcripts().PutMessages(ctx, *c, st.turn.Number, messages); err != nil {
		return 0, err
	}
	if err := tx.Documents().IndexSaid(ctx, *c, append(st.asked(), messages...)); err != nil {
		return 0, err
	}
	c.NextSeq += len(messages)
	for _, m := range messages { // the last one of the assistant
		if m.Role == transcript.Assistant {
			reply = m.Seq
		}
	}
	return reply, nil
}

// replyText returns the text of the reply: the final answer of the model, else its last text, else a
// canned text that lists the changes. It is never empty.
func (st *runState) replyText(e ending) string {
	if e.answer != "" {
		return e.answer
	}
	for _, s := range slices.Backward(st.steps) {
		if s.Content != "" && e.reason != agent.ProviderError {
			return s.Content
		}
	}
	var done []string
	for _, w := range st.writes() {
		done = append(done, strings.TrimSpace(w.Tool+" "+w.Name))
	}
	return prompt.Canned(st.spec.Lang, st.spec.Channel, string(e.reason), done)
}

// facts returns the input for the review counters.
func (st *runState) facts(e ending, writes []run.Write) nudge.Turn {
	f := nudge.Turn{Origin: agent.Origin(st.turn.Origin), Role: "user",
		Delivered:   e.reason != agent.ClientTools, // the turn that continues is counted
		Interrupted: e.reason == agent.Interrupted,
		Failed:      e.reason == agent.ProviderError || e.reason == agent.OverBudget || e.reason == agent.Lost}
	for _, s := range st.steps {
		if slices.ContainsFunc(s.Calls, run.ToolCall.Ran) {
			f.ToolIters++
		}
	}
	return Saves(f, writes)
}

// Saves adds to the facts of a turn whether its writes saved memories or skills.
func Saves(f nudge.Turn, writes []run.Write) nudge.Turn {
	for _, w := range writes {
		f.SavedMemory = f.SavedMemory || strings.HasPrefix(w.Tool, "memory_")
		f.SavedSkill = f.SavedSkill || w.Tool == "skill_save" || w.Tool == "skill_patch"
	}
	return f
}

// writes returns the applied changes of the run.
func (st *runState) writes() (out []run.Write) {
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if w, ok := Wrote(c.Tool, c.Result); ok && c.Done {
				out = append(out, w)
			}
		}
	}
	return out
}

// stagedAction is the action of a write that needs approval.
const stagedAction = "staged"

// staged returns the number of pending changes that the run has proposed.
func (st *runState) staged() (n int) {
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if w, ok := parseWrite(c.Tool, c.Result); ok && c.Done && w.Action == stagedAction {
				n++
			}
		}
	}
	return n
}

// Wrote returns the change that a tool result reports. Staged, unchanged and failed writes report false.
func Wrote(tool, result string) (run.Write, bool) {
	w, ok := parseWrite(tool, result)
	switch w.Action {
	case "", stagedAction, "unchanged", "noop":
		return run.Write{}, false
	}
	return w, ok
}

// parseWrite decodes the write that a successful tool result reports.
func parseWrite(tool, result string) (run.Write, bool) {
	var r struct {
		OK      bool   `json:"ok"`
		Action  string `json:"action"`
		Name    string `json:"name"`
		Version int    `json:"version"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || !r.OK {
		return run.Write{}, false
	}
	return run.Write{Tool: tool, Action: r.Action, Name: r.Name, Version: r.Version}, true
}

// OutcomeOf returns the outcome of a run that ended for a reason.
func OutcomeOf(r agent.Reason) run.Outcome {
	switch r {
	case agent.OverBudget:
		return run.OverBudget
	case agent.Interrupted:
		return run.CancelledOutcome
	case agent.ProviderError, agent.Lost:
		return run.Failed
	case agent.Final, agent.ClientTools, contract.Observed:
		return run.Completed
	}
	return run.CompletedPartial
}
