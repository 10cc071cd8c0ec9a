package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Conversation is one thread while it is in use. Each message is an update, and its turn is a child
// workflow; turns run one at a time. After a turn, the counters show whether a review is due, which
// runs concurrently. If the history is long, the workflow continues as new. After a long idle time
// it ends, and the next message starts it again.
func Conversation(ctx workflow.Context, in contract.ConversationInput) error {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return err
	}
	c := &conversation{in: in, state: in.State}
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

// conversation is one run of the workflow. state is carried to the next run.
type conversation struct {
	in      contract.ConversationInput
	state   contract.ConversationState
	handled int                 // turns of this run
	busy    int                 // updates that are waiting or in progress
	closing bool                // no more updates are accepted: this run ends
	ending  bool                // its user has ended the conversation
	erased  bool                // its rows were erased
	waiting []*contract.TurnRef // turns that have not started, in the order of their arrival
	running bool                // a turn is in progress: turns run one at a time
	answers string              // message in progress
	cancel  workflow.CancelFunc
}

// registerHandlers registers all updates, signals and queries before the first blocking call.
func (c *conversation) registerHandlers(ctx workflow.Context) error {
	view := func() (contract.ConversationView, error) { return c.view(), nil }
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, view); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateTurn, c.turn, workflow.UpdateHandlerOptions{
		Description: "Reply to a stored message, or count it.",
		Validator:   c.validateTurn,
	})
	if err != nil {
		return err
	}
	decide := workflow.UpdateHandlerOptions{
		Description: "Approve or reject a pending change.",
		Validator:   func(workflow.Context, contract.ApproveWriteInput) error { return c.validateOpen() },
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateApproveWrite, c.approve, decide)
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateEnd, c.endByUser, workflow.UpdateHandlerOptions{
		Description: "End the conversation after a final review.",
		Validator:   func(workflow.Context) error { return c.validateOpen() },
	})
	if err != nil {
		return err
	}
	workflow.Go(ctx, c.receiveSignals)
	return nil
}

func (c *conversation) validateTurn(_ workflow.Context, t contract.TurnRef) error {
	if t.MessageID == "" || t.Run == "" || t.Mode != contract.Answer && t.Mode != contract.Observe {
		return temporal.NewNonRetryableApplicationError(
			"the turn has no message, run or mode", "invalid_argument", nil)
	}
	return c.validateOpen()
}

// validateOpen rejects updates while the run continues as new. Their senders repeat them to the
// next run.
func (c *conversation) validateOpen() error {
	if c.closing {
		return temporal.NewApplicationError(
			"conversation continues as new: send the update again", contract.RollingOver)
	}
	return nil
}

// receiveSignals handles signals as they arrive.
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

// receive handles one signal of the given name.
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

// timeouts returns the timeouts of the latest turn.
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
