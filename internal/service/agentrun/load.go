package agentrun

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// runState is the state of a run in one activity: its pinned configuration and its stored steps.
type runState struct {
	run  run.Run
	spec Spec
	turn conversation.Turn
	// of a turn: the one stored with the run, else the live one of its channel, else empty
	session        conversation.Session
	hasSession     bool // session is stored with the run
	steps          []run.Step
	tools          Tools                      // tools of this run
	agent          Agent                      // nil for turns and reviews
	subject        agent.MemoryScope          // memory scope of the calls
	identity, meta string                     // identity and targets of long-term memory, for the context of a turn
	earlier        []conversation.TurnMessage // messages of earlier turns and the user message of this turn
	files          []conversation.Attachment  // of this turn and, if the model takes images, of some earlier ones
}

// loadRun reads a run and the data for its next request.
func (s *Service) loadRun(ctx context.Context, ref run.Ref) (st *runState, err error) {
	st = &runState{}
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
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
		st.session, st.hasSession, st.earlier, err = tx.Steps().
			Thread(ctx, ref.Run, st.sessions(), st.spec.Lang, st.turn, st.after())
		if err == nil {
			err = st.loadFiles(ctx, tx)
		}
		return err
	})
	return st, err
}

// after returns the last turn whose messages are not shown verbatim.
func (st *runState) after() int {
	if st.spec.Limits.Window > 0 {
		return st.turn.Record.Upto
	}
	return max(st.turn.Number-1-st.spec.Limits.HistoryTurns, st.turn.Record.Upto)
}

// step returns the stored response n.
func (st *runState) step(n int) (run.Step, bool) {
	for _, s := range st.steps {
		if s.N == n {
			return s, true
		}
	}
	return run.Step{}, false
}

// history returns the finished calls up to response n, in order, for the loop guard. Calls for
// earlier parts of the work are left out: repeating them for another part is no loop.
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

// actor returns the identity under which a call of this run acts.
func (st *runState) actor(c run.ToolCall) agent.Actor {
	a := agent.Actor{Workspace: st.run.Workspace, Origin: st.spec.Origin, Run: st.run.Ref.Run,
		Conversation: st.run.Conversation, Channel: st.spec.Channel,
		FromSeq: st.spec.FromSeq, ToSeq: st.spec.ToSeq, Op: st.run.Op(stepKey(c.Step), c.Position),
		Tainted: st.tainted(), Subject: st.subject}
	if st.run.Kind == run.Turn {
		a.FromSeq, a.ToSeq = st.turn.FirstSeq, st.turn.FirstSeq
	}
	return a
}
