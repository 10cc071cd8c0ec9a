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
	if err := c.registerHandlers(ctx); err != nil {
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

// conversation is one run of the workflow. What is carried into the next is in state.
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

// registerHandlers registers everything that may be said to the conversation, before
// anything blocks.
func (c *conversation) registerHandlers(ctx workflow.Context) error {
	view := func() (contract.ConversationView, error) { return c.view(), nil }
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, view); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateTurn, c.turn, workflow.UpdateHandlerOptions{
		Description: "Answer, or count, one message that is stored.",
		Validator:   c.validateTurn,
	})
	if err != nil {
		return err
	}
	decide := workflow.UpdateHandlerOptions{
		Description: "Decide about a change that waits for approval.",
		Validator:   func(workflow.Context, contract.ApproveWriteInput) error { return c.validateOpen() },
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateApproveWrite, c.approve, decide)
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateEnd, c.endByUser, workflow.UpdateHandlerOptions{
		Description: "End the conversation: what was not reviewed is.",
		Validator:   func(workflow.Context) error { return c.validateOpen() },
	})
	if err != nil {
		return err
	}
	workflow.Go(ctx, c.receiveSignals)
	return nil
}

func (c *conversation) validateTurn(_ workflow.Context, t contract.TurnRef) error {
	if t.MessageID == "" || t.Run == 0 || t.Mode != contract.Answer && t.Mode != contract.Observe {
		return temporal.NewNonRetryableApplicationError(
			"the turn names no message, no run or no mode", "invalid_argument", nil)
	}
	return c.validateOpen()
}

// validateOpen turns updates away while the run is rolled over: their senders send
// them again, to the next.
func (c *conversation) validateOpen() error {
	if c.closing {
		return temporal.NewApplicationError(
			"the conversation continues as new: send this again", contract.RollingOver)
	}
	return nil
}

// receiveSignals takes signals as they come.
func (c *conversation) receiveSignals(ctx workflow.Context) {
	selector := workflow.NewSelector(ctx)
	for _, name := range conversationSignals() {
		selector.AddReceive(workflow.GetSignalChannel(ctx, name), func(ch workflow.ReceiveChannel, _ bool) {
			c.receive(ctx, name, ch)
		})
	}
	for {
		selector.Select(ctx)
	}
}

func conversationSignals() []string {
	return []string{contract.SignalNudgeDone, contract.SignalCancelTurn, contract.SignalSettings}
}

// receive takes one signal of that name.
func (c *conversation) receive(ctx workflow.Context, name string, ch workflow.ReceiveChannel) {
	switch name {
	case contract.SignalNudgeDone:
		c.nudgeDone(ctx, ch)
	case contract.SignalCancelTurn:
		c.cancelTurn(ctx, ch)
	case contract.SignalSettings:
		c.settingsChanged(ctx, ch)
	}
}

func (c *conversation) approve(
	ctx workflow.Context, in contract.ApproveWriteInput,
) (contract.ApproveWriteResult, error) {
	in.Workspace = c.in.Workspace
	options := databaseStep(c.timeouts(), "decide about a change")
	return execute[contract.ApproveWriteResult](ctx, options, contract.ApproveWrite, in)
}

func (c *conversation) endByUser(workflow.Context) (contract.ConversationView, error) {
	c.ending = true
	return c.view(), nil
}

// timeouts are those of the latest turn.
func (c *conversation) timeouts() contract.StepTimeouts {
	if c.state.Timeouts.Database == 0 {
		return defaultTimeouts()
	}
	return c.state.Timeouts
}

func (c *conversation) view() contract.ConversationView {
	return contract.ConversationView{
		Counters: c.state.Counters, Turns: c.handled, Busy: c.busy, Answers: c.answers,
		LastTurn: c.state.LastTurn, Settings: c.state.Settings,
	}
}
