package conversation

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
	untold         []*Call           // calls of the last response that have run, and whose results are stored with the next request
	tools          Tools             // that this run has
	agent          Agent             // nil of turns and reviews
	subject        agent.MemoryScope // of its calls
	since          int               // responses up to this one are not shown
	identity, meta string            // of the agent that answers from long-term memory, for the context of a turn
	earlier        []TurnMessage     // of the turns before, and of this one what the user said
}

// load reads a run with all that its next request is made of.
func (s *Service) load(ctx context.Context, ref run.Ref) (j *runState, err error) {
	j = &runState{}
	err = s.Store.WithConversations(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if j.run, j.steps, j.turn, err = tx.Steps().Job(ctx, ref.Run); err != nil {
			return err
		}
		if j.spec, err = SpecOf(j.run); err != nil || j.run.Status == run.Ended {
			return err
		}
		if err = s.resolveAgent(j); err != nil {
			return err
		}
		if j.run.Kind != run.Turn {
			_, err = tx.Runs().StartRun(ctx, ref.Run)
			return err
		}
		j.session, j.kept, j.earlier, err = tx.Steps().Thread(ctx, ref.Run, j.sessions(), j.spec.Lang, j.turn, j.after())
		return err
	})
	return j, err
}

// after is the turn after which what was said is shown word for word.
func (j *runState) after() int {
	if j.spec.Limits.Window > 0 {
		return j.turn.Record.Upto
	}
	return max(j.turn.Number-1-j.spec.Limits.HistoryTurns, j.turn.Record.Upto)
}

// step finds a response that is stored.
func (j *runState) step(n int) (Step, bool) {
	for _, s := range j.steps {
		if s.N == n {
			return s, true
		}
	}
	return Step{}, false
}

// history is every call that has run up to response n and is about the same part
// of the work, in order, as the loop guard looks at it: what was the same for
// another part is no repetition.
func (j *runState) history(n int) []agent.CallRecord {
	var out []agent.CallRecord
	since, _ := j.reached(n)
	for _, s := range j.steps {
		for _, c := range s.Calls {
			if c.Done && s.N > since {
				out = append(out, record(c))
			}
		}
	}
	return out
}

// actor is on whose behalf a call of this run acts.
func (j *runState) actor(c Call) agent.Actor {
	a := agent.Actor{Workspace: j.run.Workspace, Origin: j.spec.Origin, Run: j.run.Ref.Run, Conversation: j.run.Conversation, Channel: j.spec.Channel,
		FromSeq: j.spec.FromSeq, ToSeq: j.spec.ToSeq, Op: j.run.Op(stepKey(c.Step), c.Position), Tainted: j.tainted(), Subject: j.subject}
	if j.run.Kind == run.Turn {
		a.FromSeq, a.ToSeq = j.turn.FirstSeq, j.turn.FirstSeq
	}
	return a
}
