package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/agent"
	"cairn/internal/flow"
	"cairn/internal/nudge"
)

// Conversation is one thread for as long as somebody writes in it. Each message
// is an update; its turn is a child; turns follow each other. After a turn the
// counters tell whether a review is due, which runs beside the conversation.
// When its history has grown it continues as new, and after a long silence it
// ends; the next message starts it again.
func Conversation(ctx workflow.Context, in flow.ConversationInput) error {
	c := &conversation{in: in, state: in.State, turns: workflow.NewMutex(ctx)}
	if err := c.listen(ctx); err != nil {
		return err
	}
	full, err := c.waitForEnd(ctx)
	if err != nil {
		return err
	}
	if full {
		return c.rollOver(ctx)
	}
	return c.end(ctx)
}

// conversation is the state of one run of the workflow.
type conversation struct {
	in      flow.ConversationInput
	state   flow.ConversationState
	turns   workflow.Mutex // turns of a conversation follow each other
	handled int            // turns of this run
	busy    int            // updates that wait or are being handled
	closing bool           // no update is taken any more: this run is over
	ending  bool           // its user has ended the conversation
	waiting []string       // messages whose turn has not begun
	stopped []string       // those of them that are to be answered with nothing done
	answers string         // the message that is being answered
	cancel  workflow.CancelFunc
}

// listen registers everything that may be said to the conversation, before
// anything blocks.
func (c *conversation) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, flow.QueryState, func() (flow.ConversationView, error) { return c.view(), nil }); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, flow.UpdateTurn, c.turn, workflow.UpdateHandlerOptions{
		Description: "Answer, or count, one message that is stored.",
		Validator: func(_ workflow.Context, t flow.TurnRef) error {
			if t.MessageID == "" || t.Run == 0 || t.Mode != flow.Answer && t.Mode != flow.Observe {
				return temporal.NewNonRetryableApplicationError("the turn names no message, no run or no mode", "invalid_argument", nil)
			}
			return c.open()
		}})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, flow.UpdateApproveWrite, c.approve, workflow.UpdateHandlerOptions{
		Description: "Decide about a change that waits for approval.", Validator: func(workflow.Context, flow.ApproveWriteInput) error { return c.open() }})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, flow.UpdateEnd, func(workflow.Context) (flow.ConversationView, error) {
		c.ending = true
		return c.view(), nil
	}, workflow.UpdateHandlerOptions{Description: "End the conversation: what was not reviewed is.", Validator: func(workflow.Context) error { return c.open() }})
	if err != nil {
		return err
	}
	workflow.Go(ctx, c.hear)
	return nil
}

// open turns updates away while the run is rolled over: their senders send them
// again, to the next.
func (c *conversation) open() error {
	if c.closing {
		return temporal.NewApplicationError("the conversation continues as new: send this again", flow.RollingOver)
	}
	return nil
}

// hear takes signals as they come.
func (c *conversation) hear(ctx workflow.Context) {
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(workflow.GetSignalChannel(ctx, flow.SignalNudgeDone), func(ch workflow.ReceiveChannel, _ bool) { c.nudgeDone(ctx, ch) })
	selector.AddReceive(workflow.GetSignalChannel(ctx, flow.SignalCancelTurn), func(ch workflow.ReceiveChannel, _ bool) { c.cancelTurn(ctx, ch) })
	selector.AddReceive(workflow.GetSignalChannel(ctx, flow.SignalSettings), func(ch workflow.ReceiveChannel, _ bool) { ch.Receive(ctx, &c.state.Settings) })
	for {
		selector.Select(ctx)
	}
}

func (c *conversation) nudgeDone(ctx workflow.Context, ch workflow.ReceiveChannel) {
	var r flow.NudgeResult
	ch.Receive(ctx, &r)
	if r.Status == "failed" || r.Status == "capped" { // what it should have read stays unread
		c.state.Counters = nudge.Lost(c.state.Counters, r.Number)
	} else {
		c.state.Counters = nudge.Finished(c.state.Counters, r.Number)
	}
}

func (c *conversation) cancelTurn(ctx workflow.Context, ch workflow.ReceiveChannel) {
	var in flow.CancelTurnInput
	ch.Receive(ctx, &in)
	switch {
	case c.cancel != nil && (in.MessageID == "" || in.MessageID == c.answers):
		c.cancel()
	case slices.Contains(c.waiting, in.MessageID):
		c.stopped = append(c.stopped, in.MessageID)
	}
}

// begin takes a message out of those that wait, and tells whether it is still
// wanted.
func (c *conversation) begin(message string) (wanted bool) {
	is := func(m string) bool { return m == message }
	wanted = !slices.ContainsFunc(c.stopped, is)
	c.waiting, c.stopped = slices.DeleteFunc(c.waiting, is), slices.DeleteFunc(c.stopped, is)
	return wanted
}

// turn handles one message.
func (c *conversation) turn(ctx workflow.Context, t flow.TurnRef) (flow.TurnResult, error) {
	c.busy++
	defer func() { c.busy-- }()
	c.waiting = append(c.waiting, t.MessageID)
	if err := c.turns.Lock(ctx); err != nil {
		return flow.TurnResult{}, err
	}
	defer c.turns.Unlock()
	wanted := c.begin(t.MessageID)
	if c.state.Seen.Has(t.MessageID) {
		return flow.TurnResult{Number: t.Number, Known: true}, nil
	}
	c.state.Settings, c.state.Pace, c.state.Idle = t.Settings, t.Pace, t.Idle
	ended, err := c.answer(ctx, t, wanted)
	if err != nil {
		return flow.TurnResult{}, temporal.NewApplicationErrorWithCause("the turn was not brought to its end", flow.TurnLost, err)
	}
	c.state.Seen.Add(t.MessageID)
	c.state.LastTurn, c.state.LastNumber = workflow.Now(ctx), max(c.state.LastNumber, t.Number)
	c.handled++
	c.state.Known, c.state.Counters = true, c.merge(ended.Counters)
	if ended.MayNudge {
		c.nudgeIfDue(ctx, t)
	}
	return flow.TurnResult{Number: t.Number, Reason: ended.Reason, ReplySeq: ended.ReplySeq, Steps: ended.Steps}, nil
}

// merge takes the counters after a turn. A review that ended during the turn was
// heard of here, and not by the turn; one whose workflow was lost is known to
// Postgres alone.
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

// answer runs the turn's child, or counts an observed turn. A child that has run
// before, in a history that was reset, is not run again: its row is read.
func (c *conversation) answer(ctx workflow.Context, t flow.TurnRef, wanted bool) (out flow.AgentResult, err error) {
	ref := flow.RunRef{Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey, Run: t.Run, Attempt: t.Attempt}
	base := flow.Base{Known: c.state.Known, Counters: c.state.Counters}
	if t.Mode == flow.Observe {
		ctx = database(ctx, t.Pace, fmt.Sprintf("count turn %d", t.Number))
		err = workflow.ExecuteActivity(ctx, flow.CountTurn, flow.CountInput{RunRef: ref, Base: base}).Get(ctx, &out)
		return out, err
	}
	in := flow.AgentInput{RunRef: ref, Kind: "turn", Conversation: c.in.Conversation, Number: t.Number, Budget: t.Budget, Pace: t.Pace, Queue: flow.QueueLLM, Base: base}
	if !wanted {
		return closeAgent(ctx, in, agent.Interrupted, nil)
	}
	ctx, c.cancel = workflow.WithCancel(ctx)
	c.answers = t.MessageID
	defer func() { c.cancel, c.answers = nil, "" }()
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            t.WorkflowID,
		TaskQueue:             t.Queue,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		WorkflowTaskTimeout:   flow.TaskTimeout,
		StaticSummary:         fmt.Sprintf("turn %d", t.Number),
		TypedSearchAttributes: attributes(ctx, "turn"),
	})
	err = workflow.ExecuteChildWorkflow(child, flow.Turn, in).Get(child, &out)
	switch {
	case temporal.IsWorkflowExecutionAlreadyStartedError(err):
		return c.await(ctx, t, ref)
	case temporal.IsCanceledError(err): // before it could begin
		return closeAgent(ctx, in, agent.Interrupted, err)
	}
	return out, err
}

// attributes are a child's: its conversation's, but for the kind.
func attributes(ctx workflow.Context, kind string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(workflow.GetTypedSearchAttributes(ctx).Copy(), temporal.NewSearchAttributeKeyKeyword(flow.AttributeKind).ValueSet(kind))
}

// awaitMargin is how long after its wall clock a turn may still be closing.
const awaitMargin = time.Minute

// await waits for a turn that an earlier run of the conversation has started. One
// that does not end in its time has been lost with its workflow.
func (c *conversation) await(ctx workflow.Context, t flow.TurnRef, ref flow.RunRef) (out flow.AgentResult, err error) {
	ctx = database(ctx, t.Pace, fmt.Sprintf("wait for turn %d", t.Number))
	o := workflow.GetActivityOptions(ctx)
	o.RetryPolicy.MaximumInterval = time.Second
	if t.Budget.Wall > 0 {
		o.ScheduleToCloseTimeout = min(o.ScheduleToCloseTimeout, t.Budget.Wall+awaitMargin)
	}
	ctx = workflow.WithActivityOptions(ctx, o)
	err = workflow.ExecuteActivity(ctx, flow.AwaitTurn, ref).Get(ctx, &out)
	return out, err
}

// lostAfter is how long a review is waited for before another may start.
const lostAfter = 10 * time.Minute

// nudgeIfDue starts a review when the counters ask for one. They begin anew only
// when the server has confirmed the start: else the next turn tries again.
func (c *conversation) nudgeIfDue(ctx workflow.Context, t flow.TurnRef) {
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
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            flow.NudgeID(c.in.WorkspaceKey, c.in.Conversation, number),
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowTaskTimeout:   flow.TaskTimeout,
		StaticSummary:         fmt.Sprintf("review after turn %d", turn),
		TypedSearchAttributes: attributes(ctx, "nudge"),
	})
	child := workflow.ExecuteChildWorkflow(ctx, flow.Nudge, flow.NudgeInput{Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey, Conversation: c.in.Conversation, Channel: c.in.Channel,
		Parent: workflow.GetInfo(ctx).WorkflowExecution.ID, Number: number, Turn: turn, Memory: memory, Skill: skill, Counters: started, Pace: c.pace()})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		workflow.GetLogger(ctx).Warn("the review could not be started", "error", err)
		return
	}
	c.state.Counters, c.state.NudgeFrom = started, workflow.Now(ctx)
}

func (c *conversation) approve(ctx workflow.Context, in flow.ApproveWriteInput) (out flow.ApprovedWrite, err error) {
	in.Workspace = c.in.Workspace
	ctx = database(ctx, c.pace(), "decide about a change")
	err = workflow.ExecuteActivity(ctx, flow.ApproveWrite, in).Get(ctx, &out)
	return out, err
}

// waitForEnd blocks until this run of the workflow is over: it is full, its user
// has ended the conversation, or nobody has said anything for so long. One timer
// covers many turns: it is set anew only when it fires.
func (c *conversation) waitForEnd(ctx workflow.Context) (full bool, err error) {
	for {
		since := c.state.LastTurn
		if since.IsZero() {
			since = workflow.GetInfo(ctx).WorkflowStartTime
		}
		silent := workflow.Now(ctx).Sub(since)
		left := c.in.Limits.Close - silent
		armed := c.unread() && c.busy == 0
		if armed {
			if silent >= c.state.Idle {
				c.read(ctx)
				continue
			}
			left = min(left, c.state.Idle-silent)
		}
		over := func() bool { return c.ending || c.isFull(ctx) }
		switch {
		case left > 0:
			// The first turn after a while wakes it, to wait for the silence after that.
			_, err = workflow.AwaitWithTimeout(ctx, left, func() bool { return over() || !armed && c.busy == 0 && c.unread() })
		case c.busy > 0:
			err = workflow.Await(ctx, func() bool { return c.busy == 0 || over() })
		default:
			return false, nil
		}
		if err != nil || over() {
			return !c.ending, err
		}
	}
}

// unread tells that something was said since the conversation was last read for
// long-term memory.
func (c *conversation) unread() bool {
	return c.state.Idle > 0 && !c.state.LastTurn.IsZero() && c.state.ReadFor.Before(c.state.LastTurn)
}

// read has what was said since the last time summarised, and distilled when the
// gate says so. Those are runs of their own; one that cannot be made now is made
// after the next turns.
func (c *conversation) read(ctx workflow.Context) {
	c.state.ReadFor = c.state.LastTurn
	pace := c.pace()
	pace.GiveUp = min(pace.GiveUp, time.Hour)
	read := database(ctx, pace, "have the idle conversation read")
	if err := workflow.ExecuteActivity(read, flow.ReadIdle, flow.IdleInput{Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey, Conversation: c.in.Conversation}).Get(read, nil); err != nil {
		workflow.GetLogger(ctx).Warn("the idle conversation could not be read", "error", err)
	}
}

func (c *conversation) isFull(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || c.handled >= c.in.Limits.Turns
}

// rollOver continues as new with all that is known. Updates are turned away
// first: waiting for them alone would never end while messages keep coming.
func (c *conversation) rollOver(ctx workflow.Context) error {
	if err := c.drain(ctx); err != nil {
		return err
	}
	next := c.in
	next.State = c.state
	return workflow.NewContinueAsNewError(ctx, flow.Conversation, next)
}

func (c *conversation) drain(ctx workflow.Context) error {
	c.closing = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	for _, name := range []string{flow.SignalNudgeDone, flow.SignalCancelTurn, flow.SignalSettings} {
		ch := workflow.GetSignalChannel(ctx, name)
		for ch.Len() > 0 {
			switch name {
			case flow.SignalNudgeDone:
				c.nudgeDone(ctx, ch)
			case flow.SignalCancelTurn:
				c.cancelTurn(ctx, ch)
			case flow.SignalSettings:
				ch.Receive(ctx, &c.state.Settings)
			}
		}
	}
	return nil
}

// end reviews what was not reviewed, when it is worth it, and writes down where
// the conversation stands.
func (c *conversation) end(ctx workflow.Context) error {
	if err := c.drain(ctx); err != nil {
		return err
	}
	if c.unread() {
		c.read(ctx)
	}
	c.missLost(ctx)
	if c.state.Known && nudge.EndDue(c.state.Counters, c.state.Settings) {
		c.startNudge(ctx, c.state.LastNumber, true, true)
	}
	if !c.state.Known && !c.ending {
		return nil // nothing was said in this run, so the row is right as it is
	}
	ctx = database(ctx, c.pace(), "write down where the conversation stands")
	return workflow.ExecuteActivity(ctx, flow.CloseConversation, flow.CloseConversationInput{Workspace: c.in.Workspace, Conversation: c.in.Conversation,
		Ended: c.ending, Counters: c.state.Counters}).Get(ctx, nil)
}

func (c *conversation) pace() flow.Pace {
	if c.state.Pace.Database == 0 {
		return defaultPace
	}
	return c.state.Pace
}

func (c *conversation) view() flow.ConversationView {
	return flow.ConversationView{Counters: c.state.Counters, Turns: c.handled, Busy: c.busy, Answers: c.answers, LastTurn: c.state.LastTurn}
}
