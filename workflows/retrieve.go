package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Retrieve answers a question from memory: it looks for memories, reads the
// sessions that they lead to, and says what was found.
func Retrieve(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Looking into memory within %d model calls", in.Budget.Max)
	return runAgent(ctx, in)
}
