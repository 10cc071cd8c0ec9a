package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/service/conversation"
	"cairn/internal/store"
)

const (
	sayPatience = 20 * time.Second       // time limit of one attempt; a worker restarts much faster
	askPatience = 2 * time.Second        // time limit of one query to a conversation
	retryPause  = 200 * time.Millisecond // pause before the next attempt
)

// converse runs some turns of all conversations in parallel. It sends a turn when the previous one
// has its reply.
func (e *experiment) converse(ctx context.Context, first, last int) error {
	places := make(chan struct{}, e.options.AtOnce)
	return e.each(ctx, func(ctx context.Context, i int) error {
		t := &e.talks[i]
		for turn := first; turn <= last; turn++ {
			if t.dueAfter(turn, false) {
				e.awaitReview(ctx, i)
			}
			places <- struct{}{}
			err := e.turn(ctx, i, turn)
			<-places
			if err != nil {
				return fmt.Errorf("%s: %w", t.mark(turn), err)
			}
		}
		return nil
	})
}

// each runs one for every conversation. Rejected messages are in the result; only an
// interruption is an error.
func (e *experiment) each(ctx context.Context, one func(ctx context.Context, i int) error) error {
	var group errgroup.Group
	var mu sync.Mutex
	for i := range e.talks {
		group.Go(func() error {
			if err := one(ctx, i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				e.result.Refused = append(e.result.Refused, err.Error())
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	if ctx.Err() != nil {
		return fault.Wrap(ctx.Err(), fault.Cancelled, "experiment interrupted", "")
	}
	return nil
}

// turn sends a message and waits for the reply. An accepted message without a reply is sent
// again, as a gateway would.
func (e *experiment) turn(ctx context.Context, i, n int) error {
	ws, t := e.workspaces[i], &e.talks[i]
	spec := app.TurnSpec(e.App.Config)
	spec.Timing.Model = e.options.Step
	r := conversation.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: t.name, Channel: "chat",
		MessageID: fmt.Sprintf("m%02d", n), Text: t.says(n), Spec: spec}
	return e.insist(ctx, sayPatience, func(ctx context.Context) (bool, error) {
		a, err := e.App.Messages.SendMessage(ctx, r)
		return a.Status == "ended", err
	})
}

// awaitReview waits until no review of a conversation is running or about to start. During a
// review, another due review waits for a later turn that cannot be predicted. A reply may be
// visible before its conversation starts the review.
func (e *experiment) awaitReview(ctx context.Context, i int) {
	id, err := e.conversation(ctx, i)
	if err != nil {
		return // the conversation has not started
	}
	_ = e.insist(ctx, askPatience, func(ctx context.Context) (bool, error) { // the audit finds reviews that did not end
		v, err := e.App.Driver.State(ctx, e.workspaces[i].Key, id)
		return err == nil && v.Busy == 0 && v.Counters.InFlight == 0, err
	})
}

// end ends a conversation after its reviews.
func (e *experiment) end(ctx context.Context, i int) error {
	id, err := e.conversation(ctx, i)
	if err != nil {
		return fmt.Errorf("end %s: %w", e.talks[i].name, err)
	}
	e.awaitReview(ctx, i)
	if _, err := e.App.Driver.End(ctx, e.workspaces[i].Key, id); err != nil {
		return fmt.Errorf("end %s: %w", e.talks[i].name, err)
	}
	return nil
}

// conversation returns the ID of a conversation's row.
func (e *experiment) conversation(ctx context.Context, i int) (id int64, err error) {
	err = e.App.Store.InWorkspace(ctx, e.workspaces[i].ID, func(ctx context.Context, q store.Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, e.talks[i].name)
		id = v.ID
		return err
	})
	return id, err
}

// insist retries try while it fails as unavailable or takes too long, up to options.Patience. It
// returns all other errors.
func (e *experiment) insist(ctx context.Context, patience time.Duration,
	try func(context.Context) (done bool, err error)) error {
	over := time.Now().Add(e.options.Patience)
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		done, err := try(limited)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil && done:
			return nil
		case err != nil && !late && !fault.Table[fault.CodeOf(err)].Retryable:
			return err
		case time.Now().After(over):
			return errors.Join(fmt.Errorf("not done within %s", e.options.Patience), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}
