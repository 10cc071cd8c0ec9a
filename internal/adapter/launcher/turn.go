package launcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/agentrun"
)

// Answer delivers a turn to its conversation and waits for the result. It starts the conversation
// if it is not running. Sending a turn again is safe: the update ID is the channel's ID of the
// message.
func (d Driver) Answer(ctx context.Context, workspaceKey string, r run.Run) (contract.TurnResult, error) {
	if err := txscope.Reject(ctx); err != nil {
		return contract.TurnResult{}, err
	}
	return d.send(ctx, workspaceKey, r)
}

// resendDelay is the delay before a turn is sent again to a conversation that has not accepted it.
const resendDelay = 50 * time.Millisecond

func (d Driver) send(ctx context.Context, workspaceKey string, r run.Run) (out contract.TurnResult, err error) {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return out, err
	}
	if err := d.sendEarlier(ctx, workspaceKey, r, spec); err != nil {
		return out, err
	}
	err = taken(ctx, func() error { return d.update(ctx, workspaceKey, r, spec, &out) })
	return out, err
}

// sendEarlier delivers earlier turns that have not ended, because a conversation answers turns in the order of their
// arrival. Another process may have stored one and stopped before it delivered it.
func (d Driver) sendEarlier(ctx context.Context, workspaceKey string, r run.Run, spec agentrun.Spec) error {
	if d.Earlier == nil {
		return nil
	}
	earlier, err := d.Earlier(ctx, r.Workspace, r.Conversation, spec.Number)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		spec, err := agentrun.SpecOf(e)
		if err != nil {
			return err
		}
		err = taken(ctx, func() error {
			_, err := d.offer(ctx, workspaceKey, e, spec, client.WorkflowUpdateStageAccepted)
			return err
		})
		if err != nil {
			return deliveryError(ctx, err)
		}
	}
	return nil
}

// taken sends a turn again until its conversation has accepted it.
func taken(ctx context.Context, send func() error) error {
	for wait := resendDelay; ; wait = min(2*wait, time.Second) {
		if err := send(); !notTaken(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// notTaken reports whether a conversation did not accept a turn: it continues as new, has just
// ended, or its workflow task was too late.
func notTaken(err error) bool {
	var app *temporal.ApplicationError
	var ended *serviceerror.NotFound
	var late *serviceerror.WorkflowNotReady
	return errors.As(err, &app) && app.Type() == contract.RollingOver || errors.As(err, &ended) || errors.As(err, &late)
}

func (d Driver) update(ctx context.Context, workspaceKey string, r run.Run, spec agentrun.Spec,
	out *contract.TurnResult) error {
	handle, err := d.offer(ctx, workspaceKey, r, spec, client.WorkflowUpdateStageCompleted)
	if err != nil {
		return deliveryError(ctx, err)
	}
	return deliveryError(ctx, handle.Get(ctx, out))
}

// offer sends a turn to its conversation and waits until the update reaches a stage.
func (d Driver) offer(ctx context.Context, workspaceKey string, r run.Run, spec agentrun.Spec,
	stage client.WorkflowUpdateStage) (client.WorkflowUpdateHandle, error) {
	o, in := d.conversation(workspaceKey, r, spec.Channel)
	turn := contract.TurnRef{Number: spec.Number, MessageID: spec.MessageID, Mode: spec.Mode, Run: r.Ref.Run,
		Attempt: r.Attempt, WorkflowID: r.WorkflowID, Budget: spec.Budget, Timeouts: spec.Timeouts(),
		Settings: spec.Settings, Idle: spec.Idle, Queue: contract.QueueLLM, Voice: spec.Voice > 0}
	start := d.Client.NewWithStartWorkflowOperation(o, contract.Conversation, in)
	return d.Client.UpdateWithStartWorkflow(ctx,
		client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{
				UpdateID: turn.Delivery(), UpdateName: contract.UpdateTurn, WaitForStage: stage,
				Args: []any{turn}}})
}

// deliveryError passes on errors of the conversation and wraps errors of the delivery.
func deliveryError(ctx context.Context, err error) error {
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return fault.Wrap(err, fault.NotFound, "the conversation has no running workflow",
			"send a message to start one")
	}
	return unavailable(err)
}

// resumePatience is the time for which the relay waits for a turn that it has delivered again.
const resumePatience = 2 * time.Second

// resume delivers a turn again to a conversation that may have lost it. A turn in progress is left
// alone. closed means that the conversation has handled this attempt at the turn, or has lost it: the
// server stores the result of an update, including a failure, as long as the conversation's run
// lives.
func (d Driver) resume(ctx context.Context, workspaceKey string, r run.Run) (closed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, resumePatience)
	defer cancel()
	_, err = d.send(ctx, workspaceKey, r)
	var app *temporal.ApplicationError
	switch {
	case err == nil || errors.As(err, &app):
		return true, nil
	case errors.Is(err, context.DeadlineExceeded):
		return false, nil
	}
	return false, err
}

// review starts a review that Temporal has lost.
func (d Driver) review(ctx context.Context, workspaceKey string, r run.Run) (closed bool, err error) {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return false, err
	}
	return d.begin(ctx, options(workspaceKey, spec.Channel, string(r.Kind), r.WorkflowID, r.Conversation,
		fmt.Sprintf("review after turn %d", spec.Turn)), contract.Nudge,
		contract.NudgeInput{Workspace: r.Workspace, WorkspaceKey: workspaceKey, Conversation: r.Conversation,
			Channel: spec.Channel,
			Parent:  contract.ConversationID(workspaceKey, r.Conversation), Number: spec.Number, Turn: spec.Turn,
			Timeouts: spec.Timeouts()})
}

// conversation returns the start options and input of a turn's conversation.
func (d Driver) conversation(workspaceKey string, r run.Run, channel string) (client.StartWorkflowOptions,
	contract.ConversationInput) {
	id := contract.ConversationID(workspaceKey, r.Conversation)
	o := options(workspaceKey, channel, "conversation", id, r.Conversation,
		fmt.Sprintf("conversation %d · %s", r.Conversation, channel))
	o.StaticDetails = "Turns and reviews are child workflows. Texts are in Postgres, not here."
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	return o, contract.ConversationInput{Workspace: r.Workspace, WorkspaceKey: workspaceKey,
		Conversation: r.Conversation, Channel: channel, Limits: d.Limits}
}

// CancelTurn asks a conversation to end one turn with a reply from what it has so far. The turn may
// arrive at the conversation after the request.
func (d Driver) CancelTurn(ctx context.Context, workspaceKey string, r run.Run) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return err
	}
	o, in := d.conversation(workspaceKey, r, spec.Channel)
	_, err = d.Client.SignalWithStartWorkflow(ctx, o.ID, contract.SignalCancelTurn,
		contract.CancelTurnInput{MessageID: spec.MessageID}, o, contract.Conversation, in)
	return deliveryError(ctx, err)
}

// CancelEarlier cancels the turns of a conversation before that of r which have not ended.
func (d Driver) CancelEarlier(ctx context.Context, workspaceKey string, r run.Run) error {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return err
	}
	earlier, err := d.Earlier(ctx, r.Workspace, r.Conversation, spec.Number)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		if err := d.CancelTurn(ctx, workspaceKey, e); err != nil {
			return err
		}
	}
	return nil
}

// Tell sends a change of settings to a running conversation. A conversation that is not running
// receives it with its next turn.
func (d Driver) Tell(ctx context.Context, workspaceKey string, conversation int64, s contract.SettingsInput) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	err := d.Client.SignalWorkflow(ctx, contract.ConversationID(workspaceKey, conversation), "",
		contract.SignalSettings, s)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	return deliveryError(ctx, err)
}

// End ends a conversation. Turns that were not reviewed are reviewed first, if there are enough of
// them.
func (d Driver) End(ctx context.Context, workspaceKey string, conversation int64) (out contract.ConversationView,
	err error) {
	if err := txscope.Reject(ctx); err != nil {
		return out, err
	}
	handle, err := d.Client.UpdateWorkflow(ctx,
		client.UpdateWorkflowOptions{WorkflowID: contract.ConversationID(workspaceKey, conversation),
			UpdateName:   contract.UpdateEnd,
			WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return out, deliveryError(ctx, err)
	}
	return out, deliveryError(ctx, handle.Get(ctx, &out))
}

// State returns the state of a running conversation.
func (d Driver) State(ctx context.Context, workspaceKey string, conversation int64) (out contract.ConversationView,
	err error) {
	if err := txscope.Reject(ctx); err != nil {
		return out, err
	}
	value, err := d.Client.QueryWorkflow(ctx, contract.ConversationID(workspaceKey, conversation), "",
		contract.QueryState)
	if err != nil {
		return out, deliveryError(ctx, err)
	}
	return out, value.Get(&out)
}
