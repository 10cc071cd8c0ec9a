package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
)

func (c *conversation) nudgeDone(ctx workflow.Context, ch workflow.ReceiveChannel) {
	var r contract.NudgeResult
	ch.Receive(ctx, &r)
	if r.Status == "failed" || r.Status == "capped" { // what it should have read stays unread
		c.state.Counters = nudge.Lost(c.state.Counters, r.Number)
	} else {
		c.state.Counters = nudge.Finished(c.state.Counters, r.Number)
	}
}

// lostAfter is how long a review is waited for before another may start.
const lostAfter = 10 * time.Minute

// nudgeIfDue starts a review when the counters ask for one. They begin anew only
// when the server has confirmed the start: else the next turn tries again.
func (c *conversation) nudgeIfDue(ctx workflow.Context, t contract.TurnRef) {
	c.missLost(ctx)
	if memory, skill := nudge.Due(c.state.Counters, c.state.Settings); memory || skill {
		c.startNudge(ctx, t.Number, memory, skill)
	}
}

// missLost stops waiting for a review that was not heard of in time.
func (c *conversation) missLost(ctx workflow.Context) {
	if c.state.Counters.InFlight != 0 && workflow.Now(ctx).Sub(c.state.NudgeFrom) > lostAfter {
		c.state.Counters = nudge.Lost(c.state.Counters, c.state.Counters.InFlight)
	}
}

func (c *conversation) startNudge(ctx workflow.Context, turn int, memory, skill bool) {
	number := c.state.Counters.Total
	started := nudge.Started(c.state.Counters, number, memory, skill)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	id := contract.NudgeID(c.in.WorkspaceKey, c.in.Conversation, number)
	options := independentChild(id, fmt.Sprintf("review after turn %d", turn), attributes(ctx, "nudge"))
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	ctx = workflow.WithChildOptions(ctx, options)
	child := workflow.ExecuteChildWorkflow(ctx, contract.Nudge, contract.NudgeInput{
		Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey,
		Conversation: c.in.Conversation, Channel: c.in.Channel,
		Parent: workflow.GetInfo(ctx).WorkflowExecution.ID, Number: number, Turn: turn,
		Memory: memory, Skill: skill, Counters: started, Timeouts: c.timeouts(),
	})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		workflow.GetLogger(ctx).Warn("the review could not be started", "error", err)
		return
	}
	c.state.Counters, c.state.NudgeFrom = started, workflow.Now(ctx)
}
