package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// takePatience is how long a specialist waits for its target, which other specialists may use.
const takePatience = 2 * time.Hour

// Specialist maintains the memories of one target under a lease. Specialists of other sessions wait
// for the lease.
func Specialist(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	setDetails(ctx, "Waiting for the target")
	take := polling(databaseStep(in.Timeouts, "take the target"), takePatience)
	taken, err := execute[contract.TakeTargetResult](ctx, take, contract.TakeTarget, in)
	if err != nil {
		reason := agent.ProviderError
		if temporal.IsCanceledError(err) {
			reason = agent.Interrupted
		}
		return closeAgent(ctx, in, reason, err)
	}
	if taken.Ended != nil {
		return *taken.Ended, nil
	}
	setDetails(ctx, "Updating the target within %d model calls", in.Budget.Max)
	in.Base.Fence = taken.Fence
	out, err := runAgent(ctx, in)
	freeTarget(ctx, in)
	return out, err
}

// freeTarget releases the target. If this fails, the lease expires.
func freeTarget(ctx workflow.Context, in contract.AgentInput) {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	timeouts := in.Timeouts
	timeouts.GiveUp = contract.LeaseFor(timeouts)
	target := contract.TargetInput{RunRef: in.RunRef, Fence: in.Base.Fence}
	_ = perform(detached, databaseStep(timeouts, "free the target"), contract.FreeTarget, target)
}
