package agentrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/tools"
)

// RunResult is what became of a run. It is the run's stored result.
type RunResult struct {
	Reason   agent.Reason   `json:"reason"`
	Detail   string         `json:"detail,omitempty"`
	Steps    int            `json:"steps"`
	Writes   []Write        `json:"writes,omitempty"` // what took effect
	Staged   int            `json:"staged,omitempty"` // changes that it has proposed and a person is to decide about
	ReplySeq int            `json:"reply_seq"`
	Counters nudge.Counters `json:"counters"`         // of the conversation, after a turn
	MayNudge bool           `json:"may_nudge"`        // after a turn: today's cap leaves room
	Status   string         `json:"status,omitempty"` // of a nudge: saved nothing budget failed
	Number   int            `json:"turn,omitempty"`

	// Of an agent of long-term memory.
	Text   string          `json:"text,omitempty"`   // what it said last
	Report json.RawMessage `json:"report,omitempty"` // what it did
}

// Write is one effect of a tool.
type Write struct {
	Tool    string `json:"tool"`
	Action  string `json:"action"`
	Name    string `json:"name,omitempty"`
	Version int    `json:"version,omitempty"`
}

// ending is how a run is to be closed.
type ending struct {
	reason agent.Reason
	detail string
	said   *Step                           // the response that closes it, not stored yet
	answer string                          // empty lets the closing words be found
	keep   func(context.Context, Tx) error // stores more, once the run is held; a run that has ended is then an error
}

// Close ends a run whose last response never came: it was cancelled, its time
// was over, its model did not answer. What was committed stays, and a turn is
// answered all the same.
func (s *Service) Close(ctx context.Context, ref run.Ref, reason agent.Reason, detail string, base Base) (*RunResult,
	error) {
	st, err := s.loadRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	if st.run.Status == run.Ended {
		return st.ended()
	}
	return s.close(ctx, st, base, ending{reason: reason, detail: detail})
}

// Await returns what became of a run once it has ended; before that it is
// Unavailable, to be asked again.
func (s *Service) Await(ctx context.Context, ref run.Ref) (*RunResult, error) {
	st := &runState{}
	err := s.Store.WithRuns(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		st.run, err = tx.Runs().Run(ctx, ref.Run)
		return err
	})
	if err != nil {
		return nil, err
	}
	if st.run.Status != run.Ended {
		return nil, fault.New(fault.Unavailable, fmt.Sprintf("run %d has not ended yet", ref.Run), "")
	}
	return st.ended()
}

// ended reads what became of a run that has ended.
func (st *runState) ended() (*RunResult, error) {
	out := &RunResult{}
	if err := json.Unmarshal(st.run.Result, out); err != nil {
		return nil, fmt.Errorf("decode the result of run %d: %w", st.run.Ref.Run, err)
	}
	return out, nil
}

// close ends a run. When another attempt has ended it, what that one made of it
// is returned.
func (s *Service) close(ctx context.Context, st *runState, base Base, e ending) (out *RunResult, err error) {
	if st.agent != nil {
		return s.closeAgent(ctx, st, e)
	}
	err = s.Store.WithRuns(ctx, st.run.Workspace, func(ctx context.Context, tx Tx) error {
		var c Conversation
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

// settle reads what a run has done once nobody can add to it any more, and finds
// out what became of calls whose result was never stored: an effect that took
// place is told, any other will never take place. Over is true when the run had
// ended before. Its conversation is locked first, where somebody asks for it.
func (st *runState) settle(ctx context.Context, tx Tx, e ending, c *Conversation) (over bool, err error) {
	id := st.run.Ref.Run
	if c != nil {
		*c, st.run, st.steps, err = tx.Steps().LockTurn(ctx, st.run.Conversation, id, st.turn.FirstSeq)
	} else {
		st.run, st.steps, err = tx.Steps().LockRun(ctx, id)
	}
	if err != nil {
		return false, err
	}
	if st.run.Status == run.Ended {
		if e.keep != nil {
			err = errEnded
		}
		return true, err
	}
	if e.keep != nil {
		if err := e.keep(ctx, tx); err != nil {
			return false, err
		}
	}
	if e.said != nil {
		if _, stored := st.step(e.said.N); !stored {
			if err := tx.Steps().PutStep(ctx, id, *e.said); err != nil {
				return false, err
			}
			st.steps = append(st.steps, *e.said)
		}
	}
	for _, s := range st.steps {
		for i, c := range s.Calls {
			if c.Done {
				continue
			}
			effect, err := tx.Steps().VoidOp(ctx, st.run.Op(stepKey(c.Step), c.Position))
			if err != nil {
				return false, err
			}
			if c, err = c.told(effect, e.reason.SkipReason()); err != nil {
				return false, err
			}
			if s.Calls[i], err = tx.Steps().EndCall(ctx, id, c); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// told is a call with its effect as its result, or with why it has none.
func (c Call) told(effect json.RawMessage, unrun agent.SkipReason) (Call, error) {
	if len(effect) > 0 && c.Class == agent.Isolated { // it was begun, and no more is written down
		unrun, effect = agent.SkipUnknown, nil
	}
	if len(effect) == 0 {
		c.Result, c.Code = c.result(unrun), string(unrun)
		return c, nil
	}
	result, err := tools.Recorded(effect)
	c.Result, c.Code = string(result.JSON), string(result.Code)
	return c, err
}

// mayNudge tells whether the day's cap leaves room for a review. While none can
// be due nobody looks.
func mayNudge(ctx context.Context, tx Tx, s nudge.Settings, c nudge.Counters) (bool, error) {
	c.InFlight = 0 // the conversation may find that the one under way is lost
	if memory, skill := nudge.Due(c, s); s.Off || !memory && !skill {
		return !s.Off, nil
	}
	today, err := tx.Workspace().NudgesToday(ctx)
	return today < s.DailyCap, err
}

// closeTurn answers, counts and ends a turn, all or nothing.
func (st *runState) closeTurn(ctx context.Context, tx Tx, c Conversation, base Base, e ending) (*RunResult, error) {
	out := &RunResult{
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
		messages := st.answer(e, c.Notice)
		Number(messages, c.NextSeq)
		if err := tx.Transcripts().PutMessages(ctx, c, t.Number, messages); err != nil {
			return nil, err
		}
		if err := tx.Transcripts().IndexSaid(ctx, c, append(st.asked(), messages...)); err != nil {
			return nil, err
		}
		c.NextSeq += len(messages)
		out.ReplySeq = c.NextSeq - 1
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
	if t.Mode != contract.Observe && c.Notice != "" && st.spec.Channel != "voice" {
		if err := tx.Conversations().SetNotice(ctx, t.Conversation, ""); err != nil {
			return nil, err
		}
	}
	t.ReplySeq, t.Reason, t.Tainted = out.ReplySeq, string(e.reason), st.tainted()
	if err := tx.Turns().EndTurn(ctx, t); err != nil {
		return nil, err
	}
	may, err := mayNudge(ctx, tx, st.spec.Settings, out.Counters)
	if err != nil {
		return nil, err
	}
	out.MayNudge = may
	return out, tx.Runs().EndRun(ctx, st.run.Ref.Run, outcomeOf(e.reason), e.detail, out)
}

// words are what the person reads: the model's answer, else what it said before
// it had to stop, else words of our own with what was done. Silence is no answer.
func (st *runState) words(e ending) string {
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

// facts are what the counters of the nudge follow from.
func (st *runState) facts(e ending, writes []Write) nudge.Turn {
	f := nudge.Turn{Origin: agent.Origin(st.turn.Origin), Role: "user", Delivered: true,
		Interrupted: e.reason == agent.Interrupted,
		Failed:      e.reason == agent.ProviderError || e.reason == agent.OverBudget}
	for _, s := range st.steps {
		if slices.ContainsFunc(s.Calls, Call.ran) {
			f.ToolIters++
		}
	}
	return Saves(f, writes)
}

// Saves adds to the facts of a turn what its writes saved.
func Saves(f nudge.Turn, writes []Write) nudge.Turn {
	for _, w := range writes {
		f.SavedMemory = f.SavedMemory || strings.HasPrefix(w.Tool, "memory_")
		f.SavedSkill = f.SavedSkill || w.Tool == "skill_save" || w.Tool == "skill_patch"
	}
	return f
}

// writes are the calls of the run that changed something.
func (st *runState) writes() (out []Write) {
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if w, ok := Wrote(c.Tool, c.Result); ok && c.Done {
				out = append(out, w)
			}
		}
	}
	return out
}

// waits is the action of a write that a person is to decide about.
const waits = "staged"

// staged is how many calls of the run have proposed a change that waits.
func (st *runState) staged() (n int) {
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if w, ok := said(c.Tool, c.Result); ok && c.Done && w.Action == waits {
				n++
			}
		}
	}
	return n
}

// Wrote reads from a tool's result what it changed: a staged, an unchanged and a
// failed write changed nothing.
func Wrote(tool, result string) (Write, bool) {
	w, ok := said(tool, result)
	switch w.Action {
	case "", waits, "unchanged", "noop":
		return Write{}, false
	}
	return w, ok
}

// said reads from a tool's result what became of the call, when it did not fail.
func said(tool, result string) (Write, bool) {
	var r struct {
		OK      bool   `json:"ok"`
		Action  string `json:"action"`
		Name    string `json:"name"`
		Version int    `json:"version"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || !r.OK {
		return Write{}, false
	}
	return Write{Tool: tool, Action: r.Action, Name: r.Name, Version: r.Version}, true
}

func outcomeOf(r agent.Reason) run.Outcome {
	switch r {
	case agent.OverBudget:
		return run.OverBudget
	case agent.Interrupted:
		return run.CancelledOutcome
	case agent.ProviderError:
		return run.Failed
	case agent.Final, contract.Observed:
		return run.Completed
	}
	return run.CompletedPartial
}
