package channel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
)

// Times of the lease of an account.
const (
	lease       = 15 * time.Second
	leaseExtend = 5 * time.Second
)

// Register stores accounts. It is called before events of them arrive.
func (s *Service) Register(ctx context.Context, accounts []Account) error {
	for _, a := range accounts {
		if err := s.Store.PutAccount(ctx, a.Name, a.Platform, a.Profile); err != nil {
			return err
		}
	}
	return nil
}

// Receive reads the events of a registered account until ctx is done. Only one process at a time receives them;
// another one waits and takes over.
func (s *Service) Receive(ctx context.Context, a Account) error {
	defer s.openStreams(ctx, a)()
	go s.readLost(ctx, a)
	holder := uuid.New()
	defer func() {
		_ = s.Store.Release(context.WithoutCancel(ctx), a.Name, holder) // else the lease expires
	}()
	for ctx.Err() == nil {
		cursor, held, err := s.Store.Lease(ctx, a.Name, holder, lease)
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
				if _, held, err := s.Store.Lease(ctx, a.Name, holder, lease); err != nil || !held {
					lost(errors.Join(errLeaseLost, err))
					return
				}
			}
		}
	}()
	if m, ok := a.Adapter.(Menu); ok {
		if err := m.SetMenu(ctx, s.Commands.List()); err != nil {
			s.Log.Info("commands not shown on the platform", "account", a.Name, "error", err)
		}
	}
	err := a.Adapter.Receive(ctx, cursor, func(ctx context.Context, events []channel.Event, cursor string) error {
		if err := s.AcceptEvents(ctx, a, events); err != nil || cursor == "" {
			return err
		}
		held, err := s.Store.SaveCursor(ctx, a.Name, holder, cursor)
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
	ws    access.Workspace
	route int64
}

// AcceptEvents stores events. After it, the platform may forget them. Their files are read later.
func (s *Service) AcceptEvents(ctx context.Context, a Account, events []channel.Event) error {
	var places []place
	files := false
	for _, e := range events {
		if e.Sender.Bot {
			continue
		}
		e.Sender.Name = inOneLine(e.Sender.Name)
		ws, ok, err := s.admit(ctx, a, e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		route, err := s.Store.PutEvent(ctx, ws.ID, e)
		if err != nil {
			return err
		}
		if route != 0 {
			s.typing(ctx, a, e)
			files = files || e.Open()
		}
		if p := (place{ws, route}); route != 0 && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	for _, p := range places {
		s.handleSoon(ctx, p, a)
	}
	if files {
		s.readSoon(ctx, a)
	}
	return nil
}

// handleSoon handles the events of a place without the relay. If it fails, or too many places are handled, the relay
// does it.
func (s *Service) handleSoon(ctx context.Context, p place, a Account) {
	select {
	case s.soon <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), burstTime+lease)
	go func() {
		defer func() { <-s.soon; cancel() }()
		for {
			wait, err := s.handleRoute(ctx, p.ws, p.route, a.Profile)
			if err != nil {
				s.Log.Warn("events deferred to relay", "workspace", p.ws.ID, "route", p.route, "error", err)
			}
			if err != nil || wait == 0 {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
}
