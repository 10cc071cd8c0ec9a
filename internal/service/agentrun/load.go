package agentrun

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
)

// runState is a run under way: what is pinned for it, and what it has done.
type runState struct {
	run            run.Run
	spec           Spec
	turn           Turn
	session        Session // of a turn: the one it keeps, else the live one of its channel, else none
	kept           bool    // it is kept
	steps          []Step
	tools          Tools             // that this run has
	agent          Agent             // nil of turns and reviews
	subject        agent.MemoryScope // of its calls
	identity, meta string            // of the agent that answers from long-term memory, for the context of a turn
	earlier        []TurnMessage     // of the turns before, and of this one what the user said
}

// loadRun reads a run with all that its next request is made of.
func (s *Service) loadRun(ctx context.Context, ref run.Ref) (st *runState, err error) {
	st = &runState{}
	err = s.Store.WithRuns(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if st.run, st.steps, st.turn, err = tx.Steps().Job(ctx, ref.Run); err != nil {
			return err
		}
		if st.spec, err = SpecOf(st.run); err != nil || st.run.Status == run.Ended {
			return err
		}
		if err = s.resolveAgent(st); err != nil {
			return err
		}
		if st.run.Kind != run.Turn {
			_, err = tx.Runs().StartRun(ctx, ref.Run)
			return err
		}
		st.session, st.kept, st.earlier, err = tx.Steps().
			Thread(ctx, ref.Run, st.sessions(), st.spec.Lang, st.turn, st.after())
		return err
	})
	return st, err
}

// after is the turn after which what was said is shown word for word.
func (st *runState) after() int {
	if st.spec.Limits.Window > 0 {
		return st.turn.Record.Upto
	}
	return max(st.turn.Number-1-st.spec.Limits.HistoryTurns, st.turn.Record.Upto)
}

// step finds a response that is stored.
func (st *runState) step(n int) (Step, bool) {
	for _, s := range st.steps {
		if s.N == n {
			return s, true
		}
	}
	return Step{}, false
}

// history is every call that has run up to response n and is about the same part
// of the work, in order, as the loop guard looks at it: what was the same for
// another part is no repetition.
func (st *runState) history(n int) []agent.CallRecord {
	var out []agent.CallRecord
	since, _ := st.reached(n)
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if c.Done && s.N > since {
				out = append(out, record(c))
			}
		}
	}
	return out
}

// actor is on whose behalf a call of this run acts.
func (st *runState) actor(c Call) agent.Actor {
	a := agent.Actor{Workspace: st.run.Workspace, Origin: st.spec.Origin, Run: st.run.Ref.Run,
		Conversation: st.run.Conversation, Channel: st.spec.Channel,
		FromSeq: st.spec.FromSeq, ToSeq: st.spec.ToSeq, Op: st.run.Op(stepKey(c.Step), c.Position),
		Tainted: st.tainted(), Subject: st.subject}
	if st.run.Kind == run.Turn {
		a.FromSeq, a.ToSeq = st.turn.FirstSeq, st.turn.FirstSeq
	}
	return a
}
