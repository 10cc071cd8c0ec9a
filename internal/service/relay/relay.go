// Package relay drives to its end whatever was accepted: runs whose workflow was
// never started or got lost, documents without a vector, calls whose caller
// died, uploads that no version came to use. Any number of relays may run; the
// database hands each duty to one of them at a time.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
)

// Ports are what the relay works with.
type Ports struct {
	Store     Store
	Leftovers Leftovers
	Driver    Driver
	Embedder  Embedder
	Space     int16
	Remove    func(ctx context.Context, key string) error // an object of the package store
	Close     time.Duration                               // after which a conversation without messages has ended
	Every     time.Duration                               // between looks at an empty outbox
	Grace     time.Duration                               // of a package that no version refers to
	Log       *slog.Logger
}

// Relay is the loop and what it works with.
type Relay struct{ Ports }

// New makes the relay. A required port that is nil is an error.
func New(p Ports) (*Relay, error) {
	err := ports.Require("relay", map[string]any{"Store": p.Store, "Leftovers": p.Leftovers, "Driver": p.Driver,
		"Embedder": p.Embedder, "Remove": p.Remove, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Relay{Ports: p}, nil
}

const (
	duties   = 8  // that one look takes, to do them side by side
	packages = 50 // that one look takes
)

// tidyEvery is how often leases and packages are looked over.
const tidyEvery = time.Minute

// Run works until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	look, tidy := time.NewTimer(0), time.NewTicker(tidyEvery)
	defer look.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tidy.C:
			if err := r.Tidy(ctx); err != nil && ctx.Err() == nil {
				r.Log.Warn("relay: tidy", "error", err)
			}
		case <-look.C:
			n, err := r.Pass(ctx)
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("relay: pass", "error", err)
			}
			wait := r.Every
			if n == duties {
				wait = 0
			}
			look.Reset(wait)
		}
	}
}

// Pass does duties that are due and returns how many it took. They do not wait
// for each other, since one whose endpoint is down may take all of its claim.
func (r *Relay) Pass(ctx context.Context) (int, error) {
	claimed, err := r.Store.ClaimOutbox(ctx, duties)
	if err != nil {
		return 0, fmt.Errorf("claim duties: %w", err)
	}
	var working sync.WaitGroup
	errs := make([]error, len(claimed))
	for i, d := range claimed {
		working.Go(func() { errs[i] = r.attempt(ctx, d) })
	}
	working.Wait()
	return len(claimed), errors.Join(errs...)
}

// attempt does a duty, or notes why it could not. It stops with the claim, so
// that no two relays are at the same duty.
func (r *Relay) attempt(ctx context.Context, d OutboxTask) error {
	claim, cancel := context.WithTimeout(ctx, d.Claim)
	defer cancel()
	err := r.do(claim, d)
	if err == nil {
		return nil
	}
	r.Log.Warn("relay: not done yet", "duty", d.Kind, "key", d.Key, "workspace", d.Workspace, "attempts", d.Attempts,
		"error", err)
	if err := r.Store.NoteOutboxTask(ctx, d, err.Error()); err != nil {
		return fmt.Errorf("note a duty: %w", err)
	}
	return nil
}

func (r *Relay) do(ctx context.Context, d OutboxTask) error {
	id, err := strconv.ParseInt(d.Key, 10, 64)
	if err != nil {
		return fmt.Errorf("read the key of a duty: %w", err)
	}
	switch d.Kind {
	case DriveRun:
		return r.drive(ctx, d, id)
	case EmbedDoc:
		return r.embed(ctx, d, id)
	case NotifySettings:
		return r.tell(ctx, d)
	}
	return fmt.Errorf("unknown duty %q", d.Kind)
}

// drive makes sure that a run's workflow is under way. The duty stays until the
// run has ended, so a Temporal that forgot the run is given it again.
func (r *Relay) drive(ctx context.Context, d OutboxTask, id int64) error {
	var (
		todo    run.Run
		ws      tenancy.Workspace
		channel string
	)
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q Tx) (err error) {
		if todo, err = q.Run(ctx, id); err != nil {
			return err
		}
		if todo.Status == run.Ended {
			return q.Settle(ctx, d.Kind, d.Key)
		}
		if ws, err = q.Self(ctx); err != nil {
			return err
		}
		if todo.Conversation == 0 { // a question is about none
			return nil
		}
		channel, err = q.Channel(ctx, todo.Conversation)
		return err
	})
	if err != nil || todo.Status == run.Ended {
		return err
	}
	return r.Driver.Start(ctx, ws.Key, channel, todo)
}

// tellMost bounds how many conversations of one workspace are told of a change;
// the others learn of it with their next turn.
const tellMost = 1000

// tell brings a change of settings to the conversations that run.
func (r *Relay) tell(ctx context.Context, d OutboxTask) error {
	var (
		ws      tenancy.Workspace
		chosen  settings.Settings
		running []int64
	)
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q Tx) (err error) {
		if ws, err = q.Self(ctx); err != nil {
			return err
		}
		if chosen, err = q.Settings(ctx); err != nil {
			return err
		}
		running, err = q.Running(ctx, r.Close, tellMost)
		return err
	})
	if err != nil {
		return err
	}
	idle := time.Duration(chosen.Memory.IdleMinutes) * time.Minute
	for _, id := range running {
		if err := r.Driver.Tell(ctx, ws.Key, id,
			contract.SettingsInput{Settings: chosen.Nudge, Idle: &idle}); err != nil {
			return err
		}
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q Tx) error {
		now, err := q.Settings(ctx)
		if err != nil || now != chosen { // changed meanwhile: the duty is for that change, too
			return err
		}
		return q.Settle(ctx, d.Kind, d.Key)
	})
}

// embed gives a document the vector it could not get when it was written.
func (r *Relay) embed(ctx context.Context, d OutboxTask, doc int64) error {
	var text string
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q Tx) (err error) {
		text, err = q.DocText(ctx, doc)
		return err
	})
	if err != nil {
		return err
	}
	vs, err := r.Embedder.Embed(ctx, []string{text})
	if err != nil {
		return fmt.Errorf("embed document %d: %w", doc, err)
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q Tx) error {
		now, err := q.DocText(ctx, doc)
		if err != nil || now != text { // changed meanwhile: the change left a duty of its own
			return err
		}
		if err := q.PutEmbedding(ctx, doc, r.Space, vs[0]); err != nil {
			return err
		}
		return q.Settle(ctx, d.Kind, d.Key)
	})
}

// callGrace leaves a retry the time to take over a call whose lease ran out
// before the call is shown as unknown.
const callGrace = time.Minute

// Tidy makes abandoned calls visible, drives erasures to their end, and collects
// packages without a version.
func (r *Relay) Tidy(ctx context.Context) error {
	if _, err := r.Leftovers.ExpireCalls(ctx, callGrace); err != nil {
		return fmt.Errorf("expire calls: %w", err)
	}
	idle, err := r.Leftovers.IdlePackages(ctx, r.Grace, packages)
	if err != nil {
		return fmt.Errorf("list idle packages: %w", err)
	}
	var errs []error // one that cannot be done now must not keep the others
	open, err := r.Leftovers.OpenErasures(ctx, packages)
	if err != nil {
		return fmt.Errorf("list open erasures: %w", err)
	}
	for _, e := range open {
		if err := r.Driver.Erase(ctx, e.WorkspaceKey, e.ID, e.Conversation); err != nil {
			errs = append(errs, fmt.Errorf("drive erasure %d: %w", e.ID, err))
		}
	}
	for _, p := range idle {
		if err := r.collect(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("collect a package of workspace %d: %w", p.Workspace, err))
		}
	}
	return errors.Join(append(errs, r.eraseDeleted(ctx), r.purge(ctx))...)
}

// collect moves an idle package on. Its object is deleted between two transactions.
func (r *Relay) collect(ctx context.Context, p IdlePackage) error {
	key, err := r.Leftovers.CollectPackage(ctx, p, r.Grace)
	if err != nil || key == "" {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	if err := r.Remove(limited, key); err != nil {
		return err
	}
	return r.Leftovers.ForgetPackage(ctx, p)
}

// removal is how long deleting an object may take. It is shorter than any grace, so
// that no second collector is at the same package.
const removal = 20 * time.Second

// eraseDeleted takes what was deleted longer ago than it can be taken back away for
// good. Packages go with the next pass.
func (r *Relay) eraseDeleted(ctx context.Context) error {
	due, err := r.Leftovers.DeletedLong(ctx, packages)
	if err != nil {
		return fmt.Errorf("list what was deleted: %w", err)
	}
	var errs []error
	for _, ws := range due {
		if err := r.Leftovers.EraseDeleted(ctx, ws, deletedAtOnce); err != nil {
			errs = append(errs, fmt.Errorf("erase what workspace %d has deleted: %w", ws, err))
		}
	}
	return errors.Join(errs...)
}

// deletedAtOnce bounds what of a workspace goes for good in one transaction; more
// goes with the next pass.
const deletedAtOnce = 500

// purge takes away what callers have put away for a time that is over.
func (r *Relay) purge(ctx context.Context) error {
	for {
		n, err := r.Leftovers.PurgeBlobs(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
}
