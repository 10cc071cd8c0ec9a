package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Turn answers one message under its channel's budget. It never fails for what
// happened in it: a turn whose model is away, whose time is over or who was
// cancelled is answered all the same.
func Turn(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return contract.AgentResult{}, err
	}
	setDetails(ctx, "Answering turn %d within %d model calls", in.Number, in.Budget.Max)
	in.Base.Compacts = true // see StepResult.Overflow
	return runAgent(ctx, in)
}
