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
	if r.Status == "failed" || r.Status == "capped" { // its turns stay unreviewed
		c.state.Counters = nudge.Lost(c.state.Counters, r.Number)
	} else {
		c.state.Counters = nudge.Finished(c.state.Counters, r.Number)
	}
}

// lostAfter is the time after which another review may start although one has not reported.
const lostAfter = 10 * time.Minute

// nudgeIfDue starts a review if one is due. The counters are reset only after the server has
// confirmed the start. Otherwise the next turn tries again.
func (c *conversation) nudgeIfDue(ctx workflow.Context, t contract.TurnRef) {
	c.missLost(ctx)
	if memory, skill := nudge.Due(c.state.Counters, c.state.Settings); memory || skill {
		c.startNudge(ctx, t.Number, memory, skill)
	}
}

// missLost records a review as lost if it did not report in time.
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
		workflow.GetLogger(ctx).Warn("review start failed", "error", err)
		return
	}
	c.state.Counters, c.state.NudgeFrom = started, workflow.Now(ctx)
}
