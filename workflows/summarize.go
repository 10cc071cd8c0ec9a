package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// Summarize extracts memories from a session. It stores the session first. Then an agent registers
// its targets, writes a digest, and hands targets off to specialists. A failed specialist affects
// neither the agent nor other specialists.
func Summarize(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Storing the session")
	kept, err := execute[contract.KeepSessionResult](
		ctx, databaseStep(in.Timeouts, "keep the session"), contract.KeepSession, in)
	if err != nil {
		return closeAgent(ctx, in, agent.ProviderError, err)
	}
	if kept.Ended != nil {
		return *kept.Ended, nil
	}
	setDetails(ctx, "Summarizing within %d model calls", in.Budget.Max)
	return runAgent(ctx, in)
}
