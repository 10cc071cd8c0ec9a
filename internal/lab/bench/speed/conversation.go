package speed

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/store"
)

// thread is a conversation with its bare counterpart.
type thread struct {
	lab       *turnLab
	name      string
	workspace access.Workspace
	id        int64
	said      int            // turns so far
	latest    run.Run        // run of the last turn
	bare      int            // turns of the bare counterpart so far
	counted   map[string]int // history events of both workflows after the last turn
}

// open creates conversations, each in its own workspace. No reviews run, so they use no
// resources.
func (l *turnLab) open(ctx context.Context, n, series int) ([]*thread, error) {
	out := make([]*thread, n)
	for i := range out {
		c := &thread{lab: l, name: fmt.Sprintf("bench-%d-%d-%d", n, series, i), counted: map[string]int{}}
		var err error
		if c.workspace, err = l.host.Store.Workspace(ctx, c.name, true); err != nil {
			return nil, err
		}
		err = l.host.Store.InWorkspace(ctx, c.workspace.ID, func(ctx context.Context, q store.Tx) error {
			s, err := q.Workspaces().Settings(ctx)
			if err != nil {
				return err
			}
			s.Nudge = nudge.Settings{Off: true}
			return q.Workspaces().SetSettings(ctx, s)
		})
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// Parts splits the time of a turn as the gateway sees it.
type Parts struct {
	Accept time.Duration `json:"accept_ns"` // storing the message
	Answer time.Duration `json:"answer_ns"` // from the update request to its response
	Model  time.Duration `json:"model_ns"`  // part of Answer that the model server takes
}

// Overhead is the time without the model.
func (p Parts) Overhead() time.Duration { return p.Accept + p.Answer - p.Model }

// turn runs a turn with the given number of model calls, in the same steps as the gateway. It
// returns the workflow of the turn.
func (c *thread) turn(ctx context.Context, calls int) (p Parts, workflow string, err error) {
	c.said++
	h := c.lab.host
	r := conversation.Request{Workspace: c.workspace.ID, WorkspaceKey: c.workspace.Key, Conversation: c.name,
		Channel: "chat", MessageID: fmt.Sprintf("m%d", c.said),
		Text: message(calls), Spec: app.TurnSpec(h.Config)}
	began := time.Now()
	accepted, err := h.Inbox.Accept(ctx, r)
	if err != nil {
		return p, "", err
	}
	p.Accept = time.Since(began)
	answered, err := h.Messages.Answer(ctx, r, accepted.Run)
	if err != nil {
		return p, "", err
	}
	p.Answer = time.Since(began) - p.Accept
	c.id, c.latest = accepted.Conversation, accepted.Run
	var made int
	if p.Model, made = c.lab.model.of(accepted.Run.Ref.Run); made != calls || answered.Reason != "final" {
		return p, "", fmt.Errorf("turn %d of %s ended as %s %s after %d model calls, not %d", c.said, c.name,
			answered.Status, answered.Reason, made, calls)
	}
	return p, accepted.Run.WorkflowID, nil
}

// settle waits until the workflow of the last turn has ended, so that it does not share time
// with the next measurement. Callers do not wait for it, because they have the reply.
func (c *thread) settle(ctx context.Context) error {
	if c.latest.WorkflowID == "" {
		return nil
	}
	_, err := c.lab.host.Driver.Answer(ctx, c.workspace.Key, c.latest)
	return err
}

// workflowID returns the ID of the parent workflow of turns.
func (c *thread) workflowID(bare bool) string {
	if bare {
		return c.bareID()
	}
	return contract.ConversationID(c.workspace.Key, c.id)
}

// events returns the length of a workflow's history.
func (c *thread) events(ctx context.Context, workflow string) (int, error) {
	d, err := c.lab.host.Temporal.DescribeWorkflow(ctx, workflow, "")
	if err != nil {
		return 0, fmt.Errorf("read the history of %s: %w", workflow, err)
	}
	return int(d.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()), nil
}
