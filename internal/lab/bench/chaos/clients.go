package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
)

// channel is the channel of the conversations.
const channel = "chat"

const (
	requestPatience = 5 * time.Second        // time limit of one attempt
	retryPause      = 200 * time.Millisecond // pause before the next attempt
)

// send sends the requests of all clients, spread over options.Spread, and returns the
// requests that were permanently rejected. None should be.
func (e *experiment) send(ctx context.Context, wanted []request) (refused []string) {
	todo := make(chan request)
	var clients sync.WaitGroup
	var mu sync.Mutex
	for range e.options.Clients {
		clients.Go(func() {
			for r := range todo {
				if err := e.request(ctx, r); err != nil {
					e.Say("%s was rejected: %v", r.conversation.ID, err)
					mu.Lock()
					refused = append(refused, fmt.Sprintf("%s: %v", r.conversation.ID, err))
					mu.Unlock()
				}
			}
		})
	}
	pace := time.NewTicker(e.options.Spread / time.Duration(len(wanted)))
	defer pace.Stop()
	for i, r := range wanted {
		if ctx.Err() != nil {
			break
		}
		todo <- r
		if i%twiceEvery == 0 {
			todo <- r
		}
		<-pace.C
	}
	close(todo)
	clients.Wait()
	return refused
}

// request accepts r and starts it, unless the relay has to start it.
func (e *experiment) request(ctx context.Context, r request) error {
	var accepted run.Run
	err := insist(ctx, func(ctx context.Context) (err error) {
		accepted, _, err = e.App.Distill.Accept(ctx, e.asked(r))
		return err
	})
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	if !r.driven {
		return nil
	}
	err = insist(ctx, func(ctx context.Context) error {
		return e.App.Driver.Start(ctx, e.workspace.Key, channel, accepted)
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

func (e *experiment) asked(r request) distill.Request {
	spec := app.DistillSpec(e.App.Config, transcript.ExtractAuto)
	if e.options.DatabaseStep > 0 {
		spec.Timing.Database = e.options.DatabaseStep
	}
	return distill.Request{Workspace: e.workspace.ID, WorkspaceKey: e.workspace.Key, ID: r.conversation.ID,
		Conversation: r.conversation, Channel: channel, Spec: spec}
}

// insist retries an operation that fails as unavailable, like a client of a gateway. It
// returns all other errors.
func insist(ctx context.Context, try func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, requestPatience)
		err := try(limited)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late && !fault.Table[fault.CodeOf(err)].Retryable {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}
