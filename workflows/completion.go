package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Completion asks a model for one reply, for the client of an API that names no conversation.
func Completion(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Asking the model")
	return runAgent(ctx, in)
}
