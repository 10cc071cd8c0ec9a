package app

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// ConversationDetail is a conversation as it is looked at.
type ConversationDetail struct {
	conversation.View
	Nudges []conversation.ReviewView  `json:"nudges"`         // the latest first
	Live   *contract.ConversationView `json:"live,omitempty"` // what its workflow knows, while it runs
}

const (
	// nudgesShown are as many as two days can bring under the usual cap.
	nudgesShown = 24
	// livePatience bounds the question to a workflow that runs: the rest of the
	// answer is in Postgres.
	livePatience = 2 * time.Second
	endAgain     = 50 * time.Millisecond
	endPatience  = 5 * time.Second
)

// ShowConversation reads a conversation with its reviews and, while it runs,
// what its workflow knows. The workflow is asked first: of what it knows to have
// ended, the rows tell.
func (h *Host) ShowConversation(ctx context.Context, ws postgres.Workspace, name string) (out ConversationDetail, err error) {
	id, err := h.conversationID(ctx, ws, name)
	if err != nil {
		return out, err
	}
	out.Live = h.live(ctx, ws, id)
	err = h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		if out.View, err = q.ConversationViews().ConversationView(ctx, name); err != nil {
			return err
		}
		out.Nudges, err = q.ConversationViews().Reviews(ctx, out.View.ID, nudgesShown)
		return err
	})
	return out, err
}

// live is what the workflow of a conversation knows, nil when it does not run or
// does not answer: what is stored is the truth.
func (h *Host) live(ctx context.Context, ws postgres.Workspace, id int64) *contract.ConversationView {
	ctx, cancel := context.WithTimeout(ctx, livePatience)
	defer cancel()
	if running, err := h.converses(ctx, ws, id); err != nil || !running {
		return nil
	}
	live, err := h.Driver.State(ctx, ws.Key, id)
	if err != nil {
		return nil
	}
	return &live
}

// CancelTurn asks a conversation to answer with what is there: the turn of a
// message, whether it is being answered or still waits, or without one whichever
// is being answered. It is false when none can be.
func (h *Host) CancelTurn(ctx context.Context, ws postgres.Workspace, name, message string) (asked bool, err error) {
	id, err := h.conversationID(ctx, ws, name)
	if err != nil {
		return false, err
	}
	if message != "" {
		return h.cancelMessage(ctx, ws, id, message)
	}
	if running, err := h.converses(ctx, ws, id); err != nil || !running {
		return false, err
	}
	live, err := h.Driver.State(ctx, ws.Key, id)
	if err != nil {
		return false, err
	}
	if live.Answers == "" {
		return false, nil
	}
	return h.cancelMessage(ctx, ws, id, live.Answers) // which its row may know to have ended
}

// cancelMessage cancels the turn of one message unless it has ended, or was only
// observed.
func (h *Host) cancelMessage(ctx context.Context, ws postgres.Workspace, conversation int64, message string) (bool, error) {
	var turn run.Run
	open := false
	err := h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		t, found, err := q.Turns().TurnOf(ctx, conversation, message)
		if err != nil || !found || t.Ended || t.Mode == contract.Observe {
			return err
		}
		open = true
		turn, err = q.Runs().Run(ctx, t.Run)
		return err
	})
	if err != nil || !open || h.Temporal == nil {
		return false, err
	}
	err = h.Driver.CancelTurn(ctx, ws.Key, turn)
	return err == nil, err
}

// EndConversation ends a conversation: what was not reviewed is, when it is
// worth it. The next message begins it again.
func (h *Host) EndConversation(ctx context.Context, ws postgres.Workspace, name string) (ConversationDetail, error) {
	id, err := h.conversationID(ctx, ws, name)
	if err != nil {
		return ConversationDetail{}, err
	}
	ends, err := h.endRunning(ctx, ws, id)
	if err != nil {
		return ConversationDetail{}, err
	}
	v, err := h.ShowConversation(ctx, ws, name)
	if err != nil || ends || v.ClosedAt != nil {
		return v, err
	}
	if err := h.Converse.CloseConversation(ctx, ws.ID, id, v.Counters, true); err != nil {
		return v, err
	}
	return h.ShowConversation(ctx, ws, name)
}

// endRunning tells a conversation that runs to end; it is false for one that
// does not run. One that is ending, or continues as new, is asked again.
func (h *Host) endRunning(ctx context.Context, ws postgres.Workspace, id int64) (bool, error) {
	for patience := endPatience; ; patience -= endAgain {
		running, err := h.converses(ctx, ws, id)
		if err != nil || !running {
			return false, err
		}
		_, err = h.Driver.End(ctx, ws.Key, id)
		var app *temporal.ApplicationError
		switch {
		case err == nil:
			return true, nil
		case gone(err):
			return false, nil
		case !errors.As(err, &app) || app.Type() != contract.RollingOver:
			return false, err
		case patience <= 0: // its last review takes long: it ends all the same
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(endAgain):
		}
	}
}

func (h *Host) conversationID(ctx context.Context, ws postgres.Workspace, name string) (id int64, err error) {
	err = h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, name)
		id = v.ID
		return err
	})
	return id, err
}

// converses tells whether a conversation's workflow runs.
func (h *Host) converses(ctx context.Context, ws postgres.Workspace, id int64) (bool, error) {
	if h.Temporal == nil {
		return false, nil
	}
	described, err := h.Temporal.DescribeWorkflowExecution(ctx, contract.ConversationID(ws.Key, id), "")
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "Temporal does not tell whether the conversation runs", "")
	}
	return described.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// gone tells that there is no such workflow, or none that still runs.
func gone(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
