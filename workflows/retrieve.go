package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Retrieve replies to a question from memory. It searches for memories, reads their sessions, and
// states the results.
func Retrieve(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Searching memory within %d model calls", in.Budget.Max)
	return runAgent(ctx, in)
}
