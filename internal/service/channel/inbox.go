package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/conversation"
)

// Access states who may write to an account.
type Access string

// Kinds of access.
const (
	AccessPairing   Access = "pairing"   // users whose code an operator has approved
	AccessAllowlist Access = "allowlist" // only known users; others get no reply
	AccessOpen      Access = "open"      // everybody; the first message makes a workspace
)

// Account is an account of the configuration with its adapter.
type Account struct {
	Name     string
	Platform string
	Access   Access
	Adapter  Adapter
}

// Times of the lease of an account.
const (
	lease       = 15 * time.Second
	leaseExtend = 5 * time.Second
)

// Register stores accounts. It is called before events of them arrive.
func (s *Service) Register(ctx context.Context, accounts []Account) error {
	for _, a := range accounts {
		if err := s.Accounts.PutAccount(ctx, a.Name, a.Platform); err != nil {
			return err
		}
	}
	return nil
}

// Receive reads the events of a registered account until ctx is done. Only one process at a time receives them;
// another one waits and takes over.
func (s *Service) Receive(ctx context.Context, a Account) error {
	holder := uuid.New()
	defer func() {
		_ = s.Accounts.Release(context.WithoutCancel(ctx), a.Name, holder) // else the lease expires
	}()
	for ctx.Err() == nil {
		cursor, held, err := s.Accounts.Lease(ctx, a.Name, holder, lease)
		if err == nil && held {
			err = s.receive(ctx, a, holder, cursor)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("channel interrupted", "account", a.Name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(leaseExtend):
		}
	}
	return nil
}

// errLeaseLost means that another process has taken the account.
var errLeaseLost = errors.New("another process receives the events of the account")

// receive reads events while the process holds the account.
func (s *Service) receive(ctx context.Context, a Account, holder uuid.UUID, cursor string) error {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	go func() {
		tick := time.NewTicker(leaseExtend)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, held, err := s.Accounts.Lease(ctx, a.Name, holder, lease); err != nil || !held {
					lost(errors.Join(errLeaseLost, err))
					return
				}
			}
		}
	}()
	err := a.Adapter.Receive(ctx, cursor, func(ctx context.Context, events []channel.Event, cursor string) error {
		if err := s.AcceptEvents(ctx, a, events); err != nil || cursor == "" {
			return err
		}
		held, err := s.Accounts.SaveCursor(ctx, a.Name, holder, cursor)
		if err == nil && !held {
			err = errLeaseLost
		}
		return err
	})
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// place is a route in its workspace.
type place struct {
	ws    tenancy.Workspace
	route int64
}

// AcceptEvents stores events. After it, the platform may forget them.
func (s *Service) AcceptEvents(ctx context.Context, a Account, events []channel.Event) error {
	var places []place
	for _, e := range events {
		// A person's memories must not appear in a group, and groups have no workspace yet.
		if e.Sender.Bot || e.Group || e.Kind != channel.Message {
			continue
		}
		ws, ok, err := s.admit(ctx, a, e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		route, err := s.Events.PutEvent(ctx, ws.ID, e)
		if err != nil {
			return err
		}
		if p := (place{ws, route}); route != 0 && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	for _, p := range places {
		s.handleSoon(ctx, p)
	}
	return nil
}

// handleSoon handles the events of a place at once. If it fails, the relay repeats it.
func (s *Service) handleSoon(ctx context.Context, p place) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
	go func() {
		defer cancel()
		if err := s.Handle(ctx, p.ws, p.route); err != nil {
			s.Log.Warn("events deferred to relay", "workspace", p.ws.ID, "route", p.route, "error", err)
		}
	}()
}

// admit returns the workspace of a sender who may write.
func (s *Service) admit(ctx context.Context, a Account, e channel.Event) (ws tenancy.Workspace, ok bool, err error) {
	ws, role, found, err := s.People.Find(ctx, a.Name, e.Sender.ID)
	switch {
	case err != nil:
		return ws, false, err
	case found:
		return ws, role != RoleBlocked, nil
	case a.Access == AccessOpen:
		ws, _, err = s.join(ctx, Identity{Account: a.Name, User: e.Sender.ID, Name: e.Sender.Name}, "")
		return ws, err == nil, err
	case a.Access == AccessPairing:
		return ws, false, s.pair(ctx, a, e)
	}
	return ws, false, nil
}

// Handle makes the events of a route messages of its conversation, one after another, or runs their commands.
// Repeating it has no effect, also at the same time.
func (s *Service) Handle(ctx context.Context, ws tenancy.Workspace, route int64) error {
	for {
		e, found, err := s.Events.NextEvent(ctx, ws.ID, route)
		if err != nil || !found {
			return err
		}
		out, err := s.handle(ctx, ws, e)
		if err != nil {
			return err
		}
		if err := s.Events.EndEvent(ctx, ws.ID, e.ID, out); err != nil {
			return err
		}
	}
}

func (s *Service) handle(ctx context.Context, ws tenancy.Workspace, e StoredEvent) (out EventOutcome, err error) {
	if name, ok := commandOf(e.Text); ok {
		return s.command(ws, e, name), nil
	}
	r := conversation.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: e.Conversation,
		Channel: agent.ChannelChat, MessageID: e.Place.Account + "/" + e.Key, Text: e.Text, Spec: s.TurnSpec()}
	r.Spec.Deliver = true
	turn, err := s.Inbox.Accept(ctx, r)
	switch code := fault.CodeOf(err); {
	case err != nil && (code == fault.InvalidArgument || code == fault.TooLarge):
		return EventOutcome{Reply: refusal(e.Text, fault.From(err))}, nil
	case err != nil:
		return out, fmt.Errorf("accept a message of %s: %w", e.Place.Account, err)
	}
	if s.Driver != nil {
		if err := s.Driver.Start(ctx, ws.Key, agent.ChannelChat, turn.Run); err != nil {
			s.Log.Warn("turn start deferred to relay", "run", turn.Run.Ref.Run, "error", err)
		}
	}
	return out, nil
}
