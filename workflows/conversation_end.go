package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
)

// waitForEnd blocks until this run of the workflow ends: its history is full, its user has ended
// the conversation, its rows were erased, or the idle timeout has passed. One timer covers many
// turns; it is restarted only when it fires.
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
		over := func() bool { return c.ending || c.erased || c.isFull(ctx) }
		switch {
		case left > 0:
			// The first turn after the idle time wakes the workflow, to wait for the next idle
			// time.
			_, err = workflow.AwaitWithTimeout(ctx, left, func() bool {
				return over() || !armed && c.busy == 0 && c.unread()
			})
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

// unread reports whether the conversation has turns since it was last processed for long-term
// memory.
func (c *conversation) unread() bool {
	return c.state.Idle > 0 && !c.state.LastTurn.IsZero() && c.state.ReadFor.Before(c.state.LastTurn)
}

// read starts the summary of the turns since the last one and, if the gate passes, their
// distillation. Both are separate runs. If they cannot be started, the next idle time tries again.
func (c *conversation) read(ctx workflow.Context) {
	c.state.ReadFor = c.state.LastTurn
	timeouts := c.timeouts()
	timeouts.GiveUp = min(timeouts.GiveUp, time.Hour)
	options := databaseStep(timeouts, "have the idle conversation read")
	idle := contract.IdleInput{
		Workspace: c.in.Workspace, WorkspaceKey: c.in.WorkspaceKey, Conversation: c.in.Conversation,
	}
	if err := perform(ctx, options, contract.ReadIdle, idle); err != nil {
		workflow.GetLogger(ctx).Warn("idle processing failed", "error", err)
	}
}

func (c *conversation) isFull(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || c.handled >= c.in.Limits.Turns
}

// rollOver continues as new with the complete state. It rejects updates first, because waiting for
// them would not end while messages keep arriving.
func (c *conversation) rollOver(ctx workflow.Context) error {
	if err := c.drain(ctx); err != nil {
		return err
	}
	next := c.in
	next.State = c.state
	return workflow.NewContinueAsNewError(ctx, contract.Conversation, next)
}

// drain handles the signals that were sent before the end of this run, and no others.
func (c *conversation) drain(ctx workflow.Context) error {
	c.closing = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	for _, name := range conversationSignals() {
		for ch := workflow.GetSignalChannel(ctx, name); ch.Len() > 0; {
			c.receive(ctx, name, ch)
		}
	}
	return nil
}

// end starts the final review, if it is due, and stores the state of the conversation.
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
		return nil // this run had no turns, so the row is up to date
	}
	options := databaseStep(c.timeouts(), "write down where the conversation stands")
	return perform(ctx, options, contract.CloseConversation, contract.CloseConversationInput{
		Workspace: c.in.Workspace, Conversation: c.in.Conversation, Ended: c.ending, Counters: c.state.Counters,
	})
}
