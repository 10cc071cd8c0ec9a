package agentrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/tools"
)

// Step produces one model response: it runs the pending calls of the previous one, calls the model
// and stores the response. If the response is the final answer or the last one in the budget, the
// run is closed in the same transaction.
func (s *Service) Step(ctx context.Context, in contract.StepInput) (contract.StepResult, error) {
	for {
		out, err := s.attempt(ctx, in.Ref(), in.Step, in.Base)
		if !errors.Is(err, errEnded) && !errors.Is(err, errRevoked) {
			return out, err
		}
	}
}

// attempt makes a step in five phases. It returns errEnded or errRevoked if the loaded state is
// outdated; the caller then retries.
func (s *Service) attempt(ctx context.Context, ref run.Ref, step agent.Step, base contract.ConversationBase) (
	out contract.StepResult, err error) {
	st, err := s.loadRun(ctx, ref)
	if err != nil {
		return out, err
	}
	if st.run.Status == run.Ended {
		ended, err := st.ended()
		out.Final, out.Ended = true, encoded(ended)
		return out, err
	}
	if e := st.unheard(); e != nil {
		return s.endStep(ctx, st, base, out, *e)
	}
	if out.Overflow, err = s.overflow(ctx, st, step, base); err != nil || out.Overflow != nil {
		return out, err
	}
	calls, err := s.runPendingCalls(ctx, st, step, base)
	if err != nil {
		return out, err
	}
	out.Tripped = calls.tripped
	plan, err := s.buildPrompt(ctx, st, step, calls)
	if err != nil {
		return out, err
	}
	if plan.end != nil {
		return s.endStep(ctx, st, base, out, *plan.end)
	}
	answer, err := s.callModel(ctx, st, plan, base)
	switch {
	case fault.CodeOf(err) == fault.QuotaExceeded:
		out.OverBudget = true
		return s.endStep(ctx, st, base, out, ending{reason: agent.OverBudget, detail: fault.From(err).Message})
	case err != nil:
		return out, err
	case answer.overflow != nil:
		out.Overflow = answer.overflow
		return out, nil
	}
	return s.storeStep(ctx, st, plan, base, out, answer)
}

// runPendingCalls runs the calls of the previous response.
func (s *Service) runPendingCalls(ctx context.Context, st *runState, step agent.Step,
	base contract.ConversationBase) (callResults, error) {
	if err := s.subject(ctx, st, base); err != nil {
		return callResults{}, err
	}
	return s.runCalls(ctx, st, step.N-1, step.Unrun, false)
}

// storeStep stores a response, unless it was stored with its reply, and returns the outcome of the step.
func (s *Service) storeStep(ctx context.Context, st *runState, plan promptPlan, base contract.ConversationBase,
	out contract.StepResult, answer response) (contract.StepResult, error) {
	var err error
	if _, found := st.step(plan.step.N); !found {
		st.steps = append(st.steps, answer.step)
	}
	if !answer.stored {
		if answer.ended, err = s.conclude(ctx, st, plan, base, &answer.step, nil); err != nil {
			return out, err
		}
	}
	resp := answer.step
	out.Ended = encoded(answer.ended)
	switch {
	case plan.ends(&resp) != nil:
		out.Final = true
	case plan.unusable(resp): // the loop decides whether to ask again
		out.Unusable = true
	case len(resp.Calls) == 0: // one part of the work is complete and another follows
		out.More = true
	// the calls of the last response still run
	case plan.step.Last && !slices.ContainsFunc(resp.Calls, run.ToolCall.AtClient):
		if _, err := s.runCalls(ctx, st, plan.step.N, "", true); err != nil {
			return out, err
		}
		return s.endStep(ctx, st, base, out, ending{reason: agent.Exhausted})
	default:
		for _, i := range st.sequence(resp.Calls) {
			c := resp.Calls[i]
			if c.AtClient() {
				out.Client = true
				continue
			}
			out.Calls = append(out.Calls, agent.CallRef{Index: c.Position, Tool: s.shown(st, c.Tool), Class: c.Class})
		}
	}
	return out, nil
}

// endStep closes the run as part of a step.
func (s *Service) endStep(ctx context.Context, st *runState, base contract.ConversationBase, out contract.StepResult,
	e ending) (contract.StepResult, error) {
	ended, err := s.close(ctx, st, base, e)
	out.Final, out.Ended = true, encoded(ended)
	return out, err
}

// shown returns the name under which workflows know a tool. A typed tool has the name of its base
// tool. A name that the model invented is replaced by an error code, because it can have any
// length.
func (s *Service) shown(st *runState, tool string) string {
	if len(st.tools.Offered(st.spec.Origin, tool)) == 0 {
		return string(fault.UnknownTool)
	}
	return tools.Base(tool)
}

// stepKey returns the part of operation IDs that names a step.
func stepKey(n int) string { return fmt.Sprintf("step-%d", n) }
