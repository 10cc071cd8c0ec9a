package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Turn replies to one message within its channel's budget. It does not fail: a turn whose model is
// unavailable, whose time limit has passed, or that was canceled still gets a reply.
func Turn(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return contract.AgentResult{}, err
	}
	setDetails(ctx, "Running turn %d within %d model calls", in.Number, in.Budget.Max)
	in.Base.Compacts = true // see StepResult.Overflow
	return runAgent(ctx, in)
}
