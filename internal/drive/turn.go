package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/converse"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/internal/run"
)

// Answer brings a turn to its conversation, which starts when it is not there,
// and waits for what becomes of it. Sending it again is safe: the update's id is
// the channel's id of the message.
func (d Driver) Answer(ctx context.Context, workspaceKey string, r run.Run) (flow.TurnResult, error) {
	return d.send(ctx, workspaceKey, r, "")
}

// again is how soon a turn is sent again to a conversation that continues as new.
const again = 50 * time.Millisecond

func (d Driver) send(ctx context.Context, workspaceKey string, r run.Run, suffix string) (out flow.TurnResult, err error) {
	spec, err := converse.SpecOf(r)
	if err != nil {
		return out, err
	}
	for wait := again; ; wait = min(2*wait, time.Second) {
		err := d.update(ctx, workspaceKey, r, spec, suffix, &out)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != flow.RollingOver {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (d Driver) update(ctx context.Context, workspaceKey string, r run.Run, spec converse.Spec, suffix string, out *flow.TurnResult) error {
	id := flow.ConversationID(workspaceKey, r.Conversation)
	o := options(workspaceKey, spec.Channel, "conversation", id, r.Conversation, fmt.Sprintf("conversation %d · %s", r.Conversation, spec.Channel))
	o.StaticDetails = "Turns are children, reviews too. Texts are in Postgres, not here."
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	start := d.Client.NewWithStartWorkflowOperation(o, flow.Conversation, flow.ConversationInput{
		Workspace: r.Workspace, WorkspaceKey: workspaceKey, Conversation: r.Conversation, Channel: spec.Channel, Limits: d.Limits})
	handle, err := d.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start, UpdateOptions: client.UpdateWorkflowOptions{
		UpdateID: spec.MessageID + suffix, UpdateName: flow.UpdateTurn, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{flow.TurnRef{Number: spec.Number, MessageID: spec.MessageID, Mode: spec.Mode, Run: r.Ref.Run, Attempt: r.Attempt, WorkflowID: r.WorkflowID,
			Budget: spec.Budget, Pace: spec.Pace(), Settings: spec.Settings, Idle: spec.Idle, Queue: flow.QueueLLM}}}})
	if err != nil {
		return sending(ctx, err)
	}
	return sending(ctx, handle.Get(ctx, out))
}

// sending tells an answer of the conversation's from trouble on the way to it.
func sending(ctx context.Context, err error) error {
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return fault.Wrap(err, fault.NotFound, "the conversation has no workflow that runs", "nothing is being answered in it; its next message starts one")
	}
	return away(err)
}

// resumePatience is how long the relay looks at a turn that it has brought to
// its conversation again.
const resumePatience = 2 * time.Second

// resume brings a turn to its conversation that may have lost it. One that is
// under way is left alone. The server keeps what an update came to for as long as
// the conversation's run lives, also when the turn failed there: it then goes under
// another id, which no message of a channel can have.
func (d Driver) resume(ctx context.Context, workspaceKey string, r run.Run) error {
	ctx, cancel := context.WithTimeout(ctx, resumePatience)
	defer cancel()
	_, err := d.send(ctx, workspaceKey, r, "")
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		_, err = d.send(ctx, workspaceKey, r, fmt.Sprintf("\x1f%d", time.Now().UnixNano()))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// review starts a nudge that Temporal has lost.
func (d Driver) review(ctx context.Context, workspaceKey string, r run.Run) error {
	spec, err := converse.SpecOf(r)
	if err != nil {
		return err
	}
	return d.begin(ctx, options(workspaceKey, spec.Channel, string(r.Kind), r.WorkflowID, r.Conversation, fmt.Sprintf("review after turn %d", spec.Turn)), flow.Nudge,
		flow.NudgeInput{Workspace: r.Workspace, WorkspaceKey: workspaceKey, Conversation: r.Conversation, Channel: spec.Channel,
			Parent: flow.ConversationID(workspaceKey, r.Conversation), Number: spec.Number, Turn: spec.Turn, Pace: spec.Pace()})
}

// Cancel asks a conversation to answer with what is there.
func (d Driver) Cancel(ctx context.Context, workspaceKey string, conversation int64, message string) error {
	err := d.Client.SignalWorkflow(ctx, flow.ConversationID(workspaceKey, conversation), "", flow.SignalCancelTurn, flow.CancelTurnInput{MessageID: message})
	return sending(ctx, err)
}

// End ends a conversation: what was not reviewed is, when it is worth it.
func (d Driver) End(ctx context.Context, workspaceKey string, conversation int64) (out flow.ConversationView, err error) {
	handle, err := d.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: flow.ConversationID(workspaceKey, conversation), UpdateName: flow.UpdateEnd,
		WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return out, sending(ctx, err)
	}
	return out, sending(ctx, handle.Get(ctx, &out))
}

// State asks a conversation that runs for what it knows.
func (d Driver) State(ctx context.Context, workspaceKey string, conversation int64) (out flow.ConversationView, err error) {
	value, err := d.Client.QueryWorkflow(ctx, flow.ConversationID(workspaceKey, conversation), "", flow.QueryState)
	if err != nil {
		return out, sending(ctx, err)
	}
	return out, value.Get(&out)
}
