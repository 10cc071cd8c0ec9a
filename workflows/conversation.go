package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Conversation is one thread for as long as somebody writes in it. Each message
// is an update; its turn is a child; turns follow each other. After a turn the
// counters tell whether a review is due, which runs beside the conversation.
// When its history has grown it continues as new, and after a long silence it
// ends; the next message starts it again.
func Conversation(ctx workflow.Context, in contract.ConversationInput) error {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return err
	}
	c := &conversation{in: in, state: in.State, turns: workflow.NewMutex(ctx)}
	if err := c.listen(ctx); err != nil {
		return err
	}
	full, err := c.waitForEnd(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.erased:
		return c.drain(ctx)
	case full:
		return c.rollOver(ctx)
	}
	return c.end(ctx)
}

// conversation is the state of one run of the workflow.
type conversation struct {
	in      contract.ConversationInput
	state   contract.ConversationState
	turns   workflow.Mutex // turns of a conversation follow each other
	handled int            // turns of this run
	busy    int            // updates that wait or are being handled
	closing bool           // no update is taken any more: this run is over
	ending  bool           // its user has ended the conversation
	erased  bool           // there is nothing any more that it could be about
	waiting []string       // messages whose turn has not begun
	answers string         // the message that is being answered
	cancel  workflow.CancelFunc
}

// listen registers everything that may be said to the conversation, before
// anything blocks.
func (c *conversation) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, func() (contract.ConversationView, error) { return c.view(), nil }); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateTurn, c.turn, workflow.UpdateHandlerOptions{
		Description: "Answer, or count, one message that is stored.",
		Validator: func(_ workflow.Context, t contract.TurnRef) error {
			if t.MessageID == "" || t.Run == 0 || t.Mode != contract.Answer && t.Mode != contract.Observe {
				return temporal.NewNonRetryableApplicationError("the turn names no message, no run or no mode", "invalid_argument", nil)
			}
			return c.open()
		}})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateApproveWrite, c.approve, workflow.UpdateHandlerOptions{
		Description: "Decide about a change that waits for approval.", Validator: func(workflow.Context, contract.ApproveWriteInput) error { return c.open() }})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateEnd, func(workflow.Context) (contract.ConversationView, error) {
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
		return temporal.NewApplicationError("the conversation continues as new: send this again", contract.RollingOver)
	}
	return nil
}

// hear takes signals as they come.
func (c *conversation) hear(ctx workflow.Context) {
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(workflow.GetSignalChannel(ctx, contract.SignalNudgeDone), func(ch workflow.ReceiveChannel, _ bool) { c.nudgeDone(ctx, ch) })
	selector.AddReceive(workflow.GetSignalChannel(ctx, contract.SignalCancelTurn), func(ch workflow.ReceiveChannel, _ bool) { c.cancelTurn(ctx, ch) })
	selector.AddReceive(workflow.GetSignalChannel(ctx, contract.SignalSettings), func(ch workflow.ReceiveChannel, _ bool) { c.settingsChanged(ctx, ch) })
	for {
		selector.Select(ctx)
	}
}

func (c *conversation) approve(ctx workflow.Context, in contract.ApproveWriteInput) (out contract.ApprovedWrite, err error) {
	in.Workspace = c.in.Workspace
	ctx = database(ctx, c.pace(), "decide about a change")
	err = workflow.ExecuteActivity(ctx, contract.ApproveWrite, in).Get(ctx, &out)
	return out, err
}

func (c *conversation) pace() contract.Pace {
	if c.state.Pace.Database == 0 {
		return defaultPace
	}
	return c.state.Pace
}

func (c *conversation) view() contract.ConversationView {
	return contract.ConversationView{Counters: c.state.Counters, Turns: c.handled, Busy: c.busy, Answers: c.answers, LastTurn: c.state.LastTurn, Settings: c.state.Settings}
}
