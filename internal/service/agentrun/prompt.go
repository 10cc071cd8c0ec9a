package agentrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// promptPlan is the plan for the model call of a step.
type promptPlan struct {
	step     agent.Step      // without tools if the loop guard demands an answer
	reason   agent.Reason    // reason of the end if the model must answer without tools
	note     string          // instruction before the response
	more     bool            // another part of the work follows
	unsent   []*run.ToolCall // calls whose results are stored with the request
	response *run.Step       // stored by an earlier attempt
	end      *ending         // set if the run ends without a model call
}

// unusable reports whether the response has neither text nor calls.
func (p promptPlan) unusable(resp run.Step) bool {
	return resp.Content == "" && (len(resp.Calls) == 0 || p.step.Toolless)
}

// ends returns how a response closes the run, nil if it does not.
func (p promptPlan) ends(resp *run.Step) *ending {
	switch {
	case p.unusable(*resp):
		return nil
	case p.step.Toolless: // its calls do not run
		return &ending{reason: p.reason, step: resp, answer: resp.Content}
	case len(resp.Calls) == 0 && p.more && !p.step.Last:
		return nil
	case len(resp.Calls) == 0 && p.more: // the budget ends before the work
		return &ending{reason: agent.Exhausted, step: resp}
	case len(resp.Calls) == 0:
		return &ending{reason: agent.Final, step: resp, answer: resp.Content}
	case !slices.ContainsFunc(resp.Calls, run.ToolCall.AtCairn):
		return &ending{reason: agent.ClientTools, step: resp}
	}
	return nil
}

// buildPrompt plans the model call from the results of earlier calls. Results without a following
// request are stored at once.
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
	plan = promptPlan{step: step, reason: agent.Exhausted, unsent: calls.unsent}
	if _, plan.more = st.reached(step.N); step.Unrun == agent.SkipGuardrail {
		plan.reason = agent.Guardrail
	}
	if resp, found := st.step(step.N); found {
		plan.response = &resp
	}
	switch {
	case calls.tripped && st.spec.Budget.RunLast: // no caller waits for a reply
		plan.end = &ending{reason: agent.Guardrail}
	case calls.tripped:
		plan.step.Toolless, plan.reason = true, agent.Guardrail
	}
	if plan.end == nil && plan.response == nil {
		over, err := s.overInput(ctx, st, plan.step)
		if err != nil {
			return plan, err
		}
		if over { // saved changes are kept
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
	return plan, s.storeToolResults(ctx, st, plan.unsent)
}

// loadMemoryContext reads the agent's identity and the memory targets for a turn that uses
// long-term memory. The context of the turn includes them if its session does not.
func (s *Service) loadMemoryContext(ctx context.Context, st *runState) (err error) {
	if st.run.Kind != run.Turn || st.turn.Context != "" || st.spec.Agent != settings.Remy {
		return nil
	}
	if st.identity, st.meta, err = s.Memory.About(ctx, st.run.Workspace); err != nil {
		return fmt.Errorf("read the identity and the memory targets: %w", err)
	}
	return nil
}

// pinContext stores, once per turn, the data that must not be part of the session: the time of
// acceptance and the changes since the session was frozen. Every request of the turn sends it with
// the user message.
func (st *runState) pinContext(ctx context.Context, tx store.Tx, news conversation.SessionChanges) error {
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
