package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	adapter "cairn/internal/adapter/channel/webhook"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/webhooktest"
	service "cairn/internal/service/channel"
)

// inbox keeps the events that Cairn's adapter accepts.
type inbox struct {
	mu     sync.Mutex
	events []channel.Event
	refuse bool // the next event
}

func (i *inbox) accept(_ context.Context, events []channel.Event, _ string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refuse {
		i.refuse = false
		return errors.New("the check refuses the event")
	}
	i.events = append(i.events, events...)
	return nil
}

func (i *inbox) list() any {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.events
}

func (i *inbox) refuseNext() any {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refuse = true
	return nil
}

// webhook starts the fake of a program at /, and Cairn's own adapter at /channels/ada/events.
func webhook() (channeltest.Served, error) {
	cairn, err := adapter.New(adapter.Options{Account: "ada", Secret: webhooktest.Secret})
	if err != nil {
		return channeltest.Served{}, err
	}
	program := webhooktest.Start()
	in := &inbox{events: []channel.Event{}}
	mux := http.NewServeMux()
	mux.Handle("/channels/ada/events", cairn.Handler(in.accept))
	mux.Handle("/", program.Config.Handler)
	return channeltest.Served{Platform: program, Handler: mux, Actions: channeltest.Actions{
		"mount": func(b channeltest.Body) any {
			program.Mount(b.URL)
			return nil
		},
		"send":   func(b channeltest.Body) any { return send(b) },
		"events": func(channeltest.Body) any { return in.list() },
		"refuse": func(channeltest.Body) any { return in.refuseNext() },
	}}, nil
}

// sent is the result of send.
type sent struct {
	ID, Error  string
	Permanent  bool
	RetryAfter int // seconds
}

// send sends a message with Cairn's own adapter.
func send(b channeltest.Body) sent {
	a, err := adapter.New(adapter.Options{Account: "ada", Secret: webhooktest.Secret, URL: b.URL})
	if err != nil {
		return sent{Error: err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	id, err := a.Send(ctx, channel.Place{Account: "ada", Chat: b.Chat, Thread: b.Thread},
		channel.Part{Key: b.ID, Text: b.Text, Buttons: []channel.Choice{{Label: "Yes", Data: b.Data}}})
	out := sent{ID: id}
	if err != nil {
		out.Error = err.Error()
	}
	if refused := (*service.SendError)(nil); errors.As(err, &refused) {
		out.Permanent, out.RetryAfter = refused.Permanent, int(refused.RetryAfter.Seconds())
	}
	return out
}
