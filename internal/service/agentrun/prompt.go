package agentrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// promptPlan is what the model is to be asked in a step.
type promptPlan struct {
	step     agent.Step   // without tools, when the loop guard wants an answer
	reason   agent.Reason // of an end, when the model is told to answer without tools
	note     string       // that it is told before its response
	more     bool         // another part of the work comes after the one that it is about
	untold   []*Call      // calls whose results are stored with the request
	response *Step        // that an earlier attempt has stored
	end      *ending      // nothing is asked: the run ends
}

// unusable tells that the model has neither answered nor called anything.
func (p promptPlan) unusable(said Step) bool {
	return said.Content == "" && (len(said.Calls) == 0 || p.step.Toolless)
}

// ends is how a response closes its run, nil when it does not.
func (p promptPlan) ends(said *Step) *ending {
	switch {
	case p.unusable(*said):
		return nil
	case p.step.Toolless: // whatever it called will not run
		return &ending{reason: p.reason, said: said, answer: said.Content}
	case len(said.Calls) == 0 && p.more && !p.step.Last:
		return nil
	case len(said.Calls) == 0 && p.more: // the budget ends before the work does
		return &ending{reason: agent.Exhausted, said: said}
	case len(said.Calls) == 0:
		return &ending{reason: agent.Final, said: said, answer: said.Content}
	}
	return nil
}

// buildPrompt finds out what the model is to be asked, from what became of the calls
// before. Results that no request follows are stored.
func (s *Service) buildPrompt(ctx context.Context, st *runState, step agent.Step, calls callResults) (plan promptPlan,
	err error) {
	if st.run.Kind == run.Turn && st.session.ID == 0 {
		if err := s.freezeSession(ctx, st); err != nil {
			return plan, err
		}
	}
	if err := s.loadMemoryContext(ctx, st); err != nil {
		return plan, err
	}
	plan = promptPlan{step: step, reason: agent.Exhausted, untold: calls.untold}
	if _, plan.more = st.reached(step.N); step.Unrun == agent.SkipGuardrail {
		plan.reason = agent.Guardrail
	}
	if said, found := st.step(step.N); found {
		plan.response = &said
	}
	switch {
	case calls.tripped && st.spec.Budget.RunLast: // nobody waits for an answer
		plan.end = &ending{reason: agent.Guardrail}
	case calls.tripped:
		plan.step.Toolless, plan.reason = true, agent.Guardrail
	}
	if plan.end == nil && plan.response == nil {
		over, err := s.overInput(ctx, st, plan.step)
		if err != nil {
			return plan, err
		}
		if over { // what it has saved stays
			plan.end = &ending{reason: agent.Exhausted, detail: "input_tokens"}
		}
	}
	if plan.step.Toolless && step.N > 1 {
		plan.note = prompt.LastCall(st.spec.Lang, st.spec.Channel)
	} else if step.Left > 0 {
		plan.note = prompt.Checkpoint(st.spec.Lang, step.Left)
	}
	if plan.end == nil && plan.response == nil {
		return plan, nil
	}
	return plan, s.storeToolResults(ctx, st, plan.untold)
}

// loadMemoryContext reads, for a turn that is answered from long-term memory, who the agent
// is and whom there are memories about: its context tells what its session does not.
func (s *Service) loadMemoryContext(ctx context.Context, st *runState) (err error) {
	if st.run.Kind != run.Turn || st.turn.Context != "" || st.spec.Agent != settings.Remy {
		return nil
	}
	if st.identity, st.meta, err = s.Memory.About(ctx, st.run.Workspace); err != nil {
		return fmt.Errorf("read what there are memories about: %w", err)
	}
	return nil
}

// pinContext gives a turn, once, what is volatile and so may not stand in its
// session: the time at which it was accepted, and what has changed since the
// session was frozen. It is told with the message in every request of the turn.
func (st *runState) pinContext(ctx context.Context, tx Tx, news SessionChanges) error {
	zone, err := time.LoadLocation(news.Zone)
	if err != nil {
		return fmt.Errorf("load the workspace's time zone: %w", err)
	}
	m := prompt.Moment{Now: st.turn.AcceptedAt.In(zone), Zone: news.Zone, Changed: news.Changed,
		Approved: news.Approved, Rejected: news.Rejected, Memories: news.Memories}
	if !strings.Contains(st.session.Rendered, strings.TrimSpace(st.identity)) {
		m.Identity = st.identity
	}
	if !strings.Contains(st.session.Rendered, strings.TrimSpace(st.meta)) {
		m.Meta = st.meta
	}
	st.turn.Context, err = tx.Turns().PinContext(ctx, st.turn, prompt.Context(st.spec.Lang, m))
	return err
}
