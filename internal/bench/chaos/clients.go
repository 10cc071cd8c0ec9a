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

// channel is where the conversations come from.
const channel = "chat"

const (
	requestPatience = 5 * time.Second        // of one try
	retryPause      = 200 * time.Millisecond // before the next
)

// send is the clients: they send the requests over the time there is for it and
// return what was refused for good, which nothing should be.
func (e *experiment) send(ctx context.Context, wanted []request) (refused []string) {
	todo := make(chan request)
	var clients sync.WaitGroup
	var mu sync.Mutex
	for range e.options.Clients {
		clients.Go(func() {
			for r := range todo {
				if err := e.request(ctx, r); err != nil {
					e.Say("%s was refused: %v", r.conversation.ID, err)
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

// request has r accepted and, unless the relay is to do it, started.
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

// insist repeats what fails as unavailable, as a gateway's client would, and
// gives up on everything else.
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
