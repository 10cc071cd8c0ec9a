package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// Summarize makes memories of a session: the session itself is kept first, then
// an agent registers whom it was about, leaves a digest, and hands targets off to
// specialists. What becomes of those fails neither it nor each other.
func Summarize(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Keeping the session")
	kept, err := execute[contract.KeepSessionResult](
		ctx, databaseStep(in.Timeouts, "keep the session"), contract.KeepSession, in)
	if err != nil {
		return closeAgent(ctx, in, agent.ProviderError, err)
	}
	if kept.Ended != nil {
		return *kept.Ended, nil
	}
	setDetails(ctx, "Summarising within %d model calls", in.Budget.Max)
	return runAgent(ctx, in)
}
