package turnbench

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/conversation"
)

// conversation is one of those that talk, with its bare twin.
type thread struct {
	lab       *lab
	name      string
	workspace tenancy.Workspace
	id        int64
	said      int            // turns so far
	latest    run.Run        // of the last turn
	bare      int            // turns of the twin so far
	counted   map[string]int // events of the conversation and of its twin after the last turn, by workflow
}

// open makes conversations, each in a workspace of its own where no review
// takes part of the machine.
func (l *lab) open(ctx context.Context, n, series int) ([]*thread, error) {
	out := make([]*thread, n)
	for i := range out {
		c := &thread{lab: l, name: fmt.Sprintf("bench-%d-%d-%d", n, series, i), counted: map[string]int{}}
		var err error
		if c.workspace, err = l.host.Store.Workspace(ctx, c.name, true); err != nil {
			return nil, err
		}
		err = l.host.Store.InWorkspace(ctx, c.workspace.ID, func(ctx context.Context, q postgres.Tx) error {
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

// Parts are where the time of a turn goes, as its gateway sees it.
type Parts struct {
	Accept time.Duration `json:"accept_ns"` // the message is made durable
	Answer time.Duration `json:"answer_ns"` // from the update's request until its answer is read
	Model  time.Duration `json:"model_ns"`  // of Answer, what the model's server took
}

// Overhead is the time beside the model.
func (p Parts) Overhead() time.Duration { return p.Accept + p.Answer - p.Model }

// turn has one message answered with so many model calls, in the steps of
// host.Say. It returns the workflow of the turn.
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

// settle waits until the workflow of the last turn has ended, too: whoever has an
// answer does not wait for that, and what comes next is not to share its time.
func (c *thread) settle(ctx context.Context) error {
	if c.latest.WorkflowID == "" {
		return nil
	}
	_, err := c.lab.host.Driver.Answer(ctx, c.workspace.Key, c.latest)
	return err
}

// workflowID is the workflow whose child a turn is.
func (c *thread) workflowID(bare bool) string {
	if bare {
		return c.bareID()
	}
	return contract.ConversationID(c.workspace.Key, c.id)
}

// events is how long a workflow's history is.
func (c *thread) events(ctx context.Context, workflow string) (int, error) {
	d, err := c.lab.host.Temporal.DescribeWorkflowExecution(ctx, workflow, "")
	if err != nil {
		return 0, fmt.Errorf("read the history of %s: %w", workflow, err)
	}
	return int(d.GetWorkflowExecutionInfo().GetHistoryLength()), nil
}
