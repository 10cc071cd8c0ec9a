package converse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cairn/internal/agent"
	"cairn/internal/fault"
	"cairn/internal/llm"
	"cairn/internal/nudge"
	"cairn/internal/prompt"
	"cairn/internal/run"
)

// Base is where a conversation's counters stand before a turn. Known is false
// when whoever asks has lost them: then the stored ones are taken.
type Base struct {
	Known    bool
	Counters nudge.Counters
	Fence    int64 // of the lease under which an agent works
}

// Stepped is what a step did. Ended is set when it has closed the run.
type Stepped struct {
	agent.Stepped
	Ended *Ended
}

// Step makes one model response: it runs the calls that the last one left, asks
// the model and stores what it said. A response that is the answer, or the last
// that the budget allows, closes the run in the same transaction.
func (s *Service) Step(ctx context.Context, ref run.Ref, step agent.Step, base Base) (out Stepped, err error) {
	j, err := s.load(ctx, ref, true)
	if err != nil {
		return out, err
	}
	if j.run.Status != run.Ended {
		if out, err = s.step(ctx, j, step, base); !errors.Is(err, errEnded) {
			return out, err
		}
		if j, err = s.load(ctx, ref, false); err != nil {
			return out, err
		}
	}
	out = Stepped{}
	out.Final = true
	out.Ended, err = j.ended()
	return out, err
}

func (s *Service) step(ctx context.Context, j *job, step agent.Step, base Base) (out Stepped, err error) {
	if j.run.Kind == run.Turn && !j.kept {
		if err := s.freezeSession(ctx, j); err != nil {
			return out, err
		}
	}
	if j.run.Kind == run.Turn {
		if err := s.refresh(ctx, j); err != nil {
			return out, err
		}
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
	if step.Unrun == agent.UnrunGuardrail {
		reason = agent.Guardrail
	}
	switch {
	case before.tripped && j.spec.Budget.RunLast: // nobody waits for an answer
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Guardrail})
		return out, err
	case before.tripped:
		step.Toolless, reason = true, agent.Guardrail
	}
	said, stored := j.step(step.N)
	if over, err := s.overInput(ctx, j, step, stored); err != nil {
		return out, err
	} else if over { // what it has saved stays
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Exhausted, detail: "input_tokens"})
		return out, err
	}
	if !stored {
		if said, err = s.respond(ctx, j, step); fault.CodeOf(err) == fault.QuotaExceeded {
			out.Final, out.OverBudget = true, true
			out.Ended, err = s.close(ctx, j, base, ending{reason: agent.OverBudget, detail: fault.From(err).Message})
			return out, err
		} else if err != nil {
			return out, err
		}
		j.steps = append(j.steps, said)
	}
	out.Unusable = said.Content == "" && len(said.Calls) == 0
	switch {
	case out.Unusable || step.Toolless && said.Content == "": // the loop decides whether to ask again
		out.Unusable = true
		return out, s.keep(ctx, j, said)
	case step.Toolless: // whatever it called will not run
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: reason, said: &said, answer: said.Content})
	case len(said.Calls) == 0 && !step.Last && j.more(step.N):
		out.More = true
		return out, s.keep(ctx, j, said)
	case len(said.Calls) == 0 && j.more(step.N): // the budget ends before the work does
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Exhausted, said: &said})
	case len(said.Calls) == 0:
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Final, said: &said, answer: said.Content})
	case step.Last: // the writes of the last response are paid for
		if err = s.keep(ctx, j, said); err != nil {
			return out, err
		}
		if _, err = s.runCalls(ctx, j, step.N, "", true); err != nil {
			return out, err
		}
		out.Final = true
		out.Ended, err = s.close(ctx, j, base, ending{reason: agent.Exhausted})
	default:
		err = s.keep(ctx, j, said)
		for _, i := range j.sequence(said.Calls) {
			c := said.Calls[i]
			out.Calls = append(out.Calls, agent.CallRef{Index: c.Position, Tool: s.shown(j, c.Tool), Class: c.Class})
		}
	}
	return out, err
}

// keep stores a response of a run that goes on.
func (s *Service) keep(ctx context.Context, j *job, said Step) error {
	return s.whileOpen(ctx, j, func(tx Tx) error { return tx.PutStep(ctx, j.run.Ref.Run, said) })
}

// shown is a tool's name as a workflow may keep it: one that the model has made
// up is its words, of any length.
func (s *Service) shown(j *job, tool string) string {
	if len(j.tools.Offered(j.spec.Origin, tool)) == 0 {
		return string(fault.UnknownTool)
	}
	return tool
}

// respond asks the model, and once more with less history when it was too much.
func (s *Service) respond(ctx context.Context, j *job, step agent.Step) (Step, error) {
	note := ""
	if step.Toolless && step.N > 1 {
		note = prompt.LastCall(j.spec.Lang, j.spec.Channel)
	}
	ask := func(suffix string, short bool) (reply llm.Reply, err error) {
		r := llm.Request{}
		if j.agent == nil {
			r = j.request(step, note, short)
		} else if r, err = s.brief(ctx, j, step, note, short); err != nil {
			return reply, err
		}
		return s.call(ctx, j, fmt.Sprint(step.N)+suffix, r)
	}
	reply, err := ask("", false)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Class == llm.ContextLength && j.run.Kind != run.Nudge {
		reply, err = ask("/short", true)
	}
	if err != nil {
		return Step{}, err
	}
	out := Step{N: step.N, Note: note, Content: strings.TrimSpace(reply.Text), Finish: reply.Finish}
	if reply.Refusal != "" { // the person is told, in the endpoint's words
		out.Content = strings.TrimSpace(reply.Refusal)
		return out, nil
	}
	if step.Toolless { // what an endpoint calls although it must not is not run, and not told
		return out, nil
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
	return out, nil
}

func (s *Service) call(ctx context.Context, j *job, step string, r llm.Request) (llm.Reply, error) {
	return s.Ledger.Call(ctx, run.CallKey{Ref: j.run.Ref, Step: "step/" + step}, r, 0)
}

// stepKey is a step's place in operation ids.
func stepKey(n int) string { return fmt.Sprintf("step-%d", n) }
