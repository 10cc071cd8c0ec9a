package conversation

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/service/tools"
)

// Base is where a conversation's counters stand before a turn. Known is false
// when whoever asks has lost them: then the stored ones are taken.
type Base struct {
	Known    bool
	Counters nudge.Counters
	Fence    int64 // of the lease under which an agent works
	Compacts bool  // whoever asks has a conversation made shorter that does not fit
}

// Stepped is what a step did. Ended is set when it has closed the run.
type Stepped struct {
	agent.StepDone
	Ended *Ended

	Overflow *CompactionPlan // nothing was asked: the conversation is to be made shorter first
}

// Step makes one model response: it runs the calls that the last one left, asks
// the model and stores what it said. A response that is the answer, or the last
// that the budget allows, closes the run in the same transaction.
func (s *Service) Step(ctx context.Context, ref run.Ref, step agent.Step, base Base) (Stepped, error) {
	for {
		j, err := s.load(ctx, ref)
		if err != nil {
			return Stepped{}, err
		}
		if j.run.Status == run.Ended {
			out := Stepped{StepDone: agent.StepDone{Final: true}}
			out.Ended, err = j.ended()
			return out, err
		}
		out, err := s.step(ctx, j, step, base)
		if !errors.Is(err, errEnded) && !errors.Is(err, errRevoked) {
			return out, err
		}
	}
}

func (s *Service) step(ctx context.Context, j *runState, step agent.Step, base Base) (out Stepped, err error) {
	if out.Overflow, err = s.overflow(ctx, j, step, base); err != nil || out.Overflow != nil {
		return out, err
	}
	if j.run.Kind == run.Turn && j.session.ID == 0 {
		if err := s.freezeSession(ctx, j); err != nil {
			return out, err
		}
	}
	if err := s.loadMemoryContext(ctx, j); err != nil {
		return out, err
	}
	if err := s.subject(ctx, j, base); err != nil {
		return out, err
	}
	before, err := s.runCalls(ctx, j, step.N-1, step.Unrun, false)
	if err != nil {
		return out, err
	}
	out.AllUnavailable, out.Tripped = before.unavailable, before.tripped
	reason := agent.Exhausted
	if step.Unrun == agent.SkipGuardrail {
		reason = agent.Guardrail
	}
	said, stored := j.step(step.N)
	if stored || before.tripped && j.spec.Budget.RunLast {
		if err := s.storeToolResults(ctx, j); err != nil {
			return out, err
		}
	}
	switch {
	case before.tripped && j.spec.Budget.RunLast: // nobody waits for an answer
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Guardrail})
		return out, err
	case before.tripped:
		step.Toolless, reason = true, agent.Guardrail
	}
	if over, err := s.overInput(ctx, j, step, stored); err != nil {
		return out, err
	} else if over { // what it has saved stays
		if err := s.storeToolResults(ctx, j); err != nil {
			return out, err
		}
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Exhausted, detail: "input_tokens"})
		return out, err
	}
	r := response{step: step, reason: reason, base: base, said: said}
	_, r.more = j.reached(step.N)
	if !stored {
		if err = s.respond(ctx, j, &r); fault.CodeOf(err) == fault.QuotaExceeded {
			out.Final, out.OverBudget = true, true
			out.Ended, err = s.close(ctx, j, base, ending{reason: agent.OverBudget, detail: fault.From(err).Message})
			return out, err
		} else if err != nil {
			return out, err
		}
		if r.overflow != nil {
			out.Overflow = r.overflow
			return out, nil
		}
		if _, there := j.step(step.N); !there {
			j.steps = append(j.steps, r.said)
		}
	}
	if !r.done {
		if err := s.conclude(ctx, j, &r, nil); err != nil {
			return out, err
		}
	}
	said, out.Ended = r.said, r.ended
	switch {
	case r.ends() != nil:
		out.Final = true
	case r.unusable(): // the loop decides whether to ask again
		out.Unusable = true
	case len(said.Calls) == 0: // about a part of the work, and there is another
		out.More = true
	case step.Last: // the writes of the last response are paid for
		if _, err = s.runCalls(ctx, j, step.N, "", true); err != nil {
			return out, err
		}
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Exhausted})
	default:
		for _, i := range j.sequence(said.Calls) {
			c := said.Calls[i]
			out.Calls = append(out.Calls, agent.CallRef{Index: c.Position, Tool: s.shown(j, c.Tool), Class: c.Class})
		}
	}
	return out, err
}

// shown is a tool's name as a workflow knows it: a typed one is the tool that it
// stands for, and one that the model has made
// up is its words, of any length.
func (s *Service) shown(j *runState, tool string) string {
	if len(j.tools.Offered(j.spec.Origin, tool)) == 0 {
		return string(fault.UnknownTool)
	}
	return tools.Base(tool)
}

// stepKey is a step's place in operation ids.
func stepKey(n int) string { return fmt.Sprintf("step-%d", n) }
