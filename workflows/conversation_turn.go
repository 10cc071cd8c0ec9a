package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
)

func (c *conversation) cancelTurn(_ workflow.Context, ch workflow.ReceiveChannel) {
	var in contract.CancelTurnInput
	if !ch.ReceiveAsync(&in) {
		return // a turn is in progress and receives it
	}
	switch {
	case c.cancel != nil && (in.MessageID == "" || in.MessageID == c.answers):
		c.cancel()
	case in.MessageID != "" && !c.state.Seen.Has(in.MessageID) && !slices.Contains(c.state.Stopped, in.MessageID):
		c.state.Stopped = append(c.state.Stopped, in.MessageID) // the message waits, or has not arrived
		c.state.Stopped = c.state.Stopped[max(0, len(c.state.Stopped)-maxStopped):]
	}
}

// maxStopped is the number of remembered canceled messages, which exceeds the number of messages
// that can wait.
const maxStopped = 128

// settingsChanged applies changed workspace settings, which replace those of the latest turn.
func (c *conversation) settingsChanged(ctx workflow.Context, ch workflow.ReceiveChannel) {
	var in contract.SettingsInput
	ch.Receive(ctx, &in)
	c.state.Settings = in.Settings
	if in.Idle != nil {
		c.state.Idle = *in.Idle
	}
}

// begin reports whether the reply to a message is still wanted.
func (c *conversation) begin(message string) (wanted bool) {
	is := func(m string) bool { return m == message }
	wanted = !slices.ContainsFunc(c.state.Stopped, is)
	c.state.Stopped = slices.DeleteFunc(c.state.Stopped, is)
	return wanted
}

// await waits until no turn is in progress and no earlier one waits. The order is that of the numbers: updates that
// arrive together are handled in any order.
func (c *conversation) await(ctx workflow.Context, t *contract.TurnRef) error {
	c.waiting = append(c.waiting, t)
	defer func() { c.waiting = slices.DeleteFunc(c.waiting, func(w *contract.TurnRef) bool { return w == t }) }()
	return workflow.Await(ctx, func() bool {
		first := slices.MinFunc(c.waiting, func(a, b *contract.TurnRef) int { return cmp.Compare(a.Number, b.Number) })
		return !c.running && first == t
	})
}

// receiveCancellations handles cancellations that arrived with the message. If both arrive when the
// workflow starts, the message's handler runs before the signal handler.
func (c *conversation) receiveCancellations(ctx workflow.Context) {
	for ch := workflow.GetSignalChannel(ctx, contract.SignalCancelTurn); ch.Len() > 0; {
		c.cancelTurn(ctx, ch)
	}
}

// turn handles one message.
func (c *conversation) turn(ctx workflow.Context, t contract.TurnRef) (contract.TurnResult, error) {
	c.busy++
	defer func() { c.busy-- }()
	if !c.state.Seen.Has(t.Delivery()) { // evaluated here, because settings that change while it waits are newer
		c.state.Settings, c.state.Idle = t.Settings, t.Idle
	}
	if err := c.await(ctx, &t); err != nil {
		return contract.TurnResult{}, err
	}
	c.running = true
	defer func() { c.running = false }()
	c.receiveCancellations(ctx)
	wanted := c.begin(t.MessageID)
	if c.state.Seen.Has(t.Delivery()) {
		return contract.TurnResult{Number: t.Number, Known: true}, nil
	}
	c.state.Timeouts = t.Timeouts
	ended, err := c.answer(ctx, t, wanted)
	if err != nil {
		c.erased = c.erased || isErased(err)
		return contract.TurnResult{}, temporal.NewApplicationErrorWithCause(
			"turn was terminated", contract.TurnLost, err)
	}
	c.state.Seen.Add(t.Delivery())
	c.state.LastTurn, c.state.LastNumber = workflow.Now(ctx), max(c.state.LastNumber, t.Number)
	c.handled++
	c.state.Known, c.state.Counters = true, c.merge(ended.Counters)
	if ended.MayNudge {
		c.nudgeIfDue(ctx, t)
	}
	return contract.TurnResult{
		Number: t.Number, Reason: ended.Reason, ReplySeq: ended.ReplySeq, Steps: ended.Steps,
	}, nil
}

// isErased reports whether a turn failed because its rows were erased, or lost in a restore from a
// backup. The sender had read the rows earlier. Without this check, the workflow would start the
// conversation again.
func isErased(err error) bool {
	code, _ := explain(err)
	return code == "not_found" || code == "erasing" || code == "stale_incarnation"
}

// merge merges the counters after a turn. A review that ended during the turn is known only here. A
// review whose workflow was lost is known only to Postgres.
func (c *conversation) merge(after nudge.Counters) nudge.Counters {
	if !c.state.Known {
		return after
	}
	both := nudge.Join(after, c.state.Counters)
	if both.InFlight = c.state.Counters.InFlight; both.InFlight <= both.LastReviewed {
		both.InFlight = 0
	}
	return both
}

// answer runs the child workflow of the turn, or counts an observed turn. After a reset, a child
// that has already run is not run again; its row is read.
func (c *conversation) answer(
	ctx workflow.Context, t contract.TurnRef, wanted bool,
) (out contract.AgentResult, err error) {
	ref := contract.RunRef{
		Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey, Run: t.Run, Attempt: t.Attempt,
	}
	base := contract.ConversationBase{Known: c.state.Known, Counters: c.state.Counters}
	if t.Mode == contract.Observe {
		options := databaseStep(t.Timeouts, fmt.Sprintf("count turn %d", t.Number))
		count := contract.CountInput{RunRef: ref, Base: base}
		return execute[contract.AgentResult](ctx, options, contract.CountTurn, count)
	}
	in := contract.AgentInput{
		RunRef: ref, Kind: "turn", Conversation: c.in.Conversation, Number: t.Number,
		Budget: t.Budget, Timeouts: t.Timeouts, Queue: contract.QueueLLM, Base: base, Voice: t.Voice,
	}
	if !wanted {
		return closeAgent(ctx, in, agent.Interrupted, nil)
	}
	ctx, c.cancel = workflow.WithCancel(ctx)
	c.answers = t.MessageID
	defer func() { c.cancel, c.answers = nil, "" }()
	options := independentChild(t.WorkflowID, fmt.Sprintf("turn %d", t.Number), attributes(ctx, "turn"))
	options.TaskQueue, options.WaitForCancellation = t.Queue, true
	child := workflow.WithChildOptions(ctx, options)
	err = workflow.ExecuteChildWorkflow(child, contract.Turn, in).Get(ctx, &out)
	switch {
	case temporal.IsWorkflowExecutionAlreadyStartedError(err):
		return awaitTurn(ctx, t, ref)
	case temporal.IsCanceledError(err): // before it started
		return closeAgent(ctx, in, agent.Interrupted, err)
	}
	return out, err
}

// awaitMargin is how long after its time limit a turn may still be closing.
const awaitMargin = time.Minute

// awaitTurn waits for a turn that an earlier run of the conversation has started. If it does not
// end in time, it was lost with its workflow.
func awaitTurn(ctx workflow.Context, t contract.TurnRef, ref contract.RunRef) (contract.AgentResult, error) {
	patience := t.Timeouts.GiveUp
	if t.Budget.Wall > 0 {
		wall := t.Budget.Wall
		if t.Voice {
			wall += min(wall, transcribePatience)
		}
		patience = min(patience, wall+awaitMargin)
	}
	options := polling(databaseStep(t.Timeouts, fmt.Sprintf("wait for turn %d", t.Number)), patience)
	return execute[contract.AgentResult](ctx, options, contract.AwaitTurn, ref)
}
