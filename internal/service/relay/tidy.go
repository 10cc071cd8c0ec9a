package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/outbox"
)

// callGrace gives a retry time to take over a call with an expired lease before the call is marked
// as unknown.
const callGrace = time.Minute

// packages is the number of packages, erasures or workspaces that a pass of Recover or Clean handles.
const packages = 50

// Tidy is Recover and Clean.
func (r *Relay) Tidy(ctx context.Context) error { return errors.Join(r.Recover(ctx), r.Clean(ctx)) }

// Recover logs tasks without progress, marks abandoned calls and starts erasure workflows.
func (r *Relay) Recover(ctx context.Context) error {
	errs := []error{r.logStuck(ctx)} // a failure must not block the others
	if _, err := r.Store.ExpireCalls(ctx, callGrace); err != nil {
		errs = append(errs, fmt.Errorf("expire calls: %w", err))
	}
	open, err := r.Store.OpenErasures(ctx, packages)
	if err != nil {
		errs = append(errs, fmt.Errorf("list open erasures: %w", err))
	}
	for _, e := range open {
		if err := r.Driver.Erase(ctx, contract.EraseStart{WorkspaceKey: e.WorkspaceKey, Erasure: e.ID,
			Conversation: e.Conversation, Subject: e.Subject}); err != nil {
			errs = append(errs, fmt.Errorf("drive erasure %d: %w", e.ID, err))
		}
	}
	return errors.Join(errs...)
}

// Clean collects unused packages, deleted skills and expired content. It may take minutes, because it
// waits for the object store.
func (r *Relay) Clean(ctx context.Context) error {
	errs := []error{r.purge(ctx), r.eraseDeleted(ctx)}
	idle, err := r.Store.IdlePackages(ctx, r.Grace, packages)
	if err != nil {
		errs = append(errs, fmt.Errorf("list idle packages: %w", err))
	}
	for _, p := range idle {
		if err := r.collect(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("collect a package of workspace %d: %w", p.Workspace, err))
		}
	}
	return errors.Join(errs...)
}

// stuckShown limits the logged tasks.
const stuckShown = 5

// logStuck logs tasks that make no progress. The metric cairn_outbox_stuck counts all of them.
func (r *Relay) logStuck(ctx context.Context) error {
	stuck, err := r.Store.StuckOutboxTasks(ctx, stuckShown)
	if err != nil {
		return fmt.Errorf("list stuck outbox tasks: %w", err)
	}
	for _, d := range stuck {
		r.Log.Error("outbox task makes no progress", "kind", d.Kind, "key", d.Key, "workspace", d.Workspace,
			"failures", d.Failures, "since", d.Since.Round(time.Second), "error", d.LastError)
	}
	return nil
}

// collect advances an idle package. Its object is deleted between two transactions.
func (r *Relay) collect(ctx context.Context, p outbox.IdlePackage) error {
	key, err := r.Store.CollectPackage(ctx, p, r.Grace)
	if err != nil || key == "" {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	if err := r.Remove(limited, key); err != nil {
		return err
	}
	return r.Store.ForgetPackage(ctx, p)
}

// removal is the time limit for deleting an object. It is shorter than any grace, so that no second
// relay collects the same package.
const removal = 20 * time.Second

// eraseDeleted erases skills whose undo period has passed. Their packages are collected in the next pass.
func (r *Relay) eraseDeleted(ctx context.Context) error {
	due, err := r.Store.DeletedLong(ctx, packages)
	if err != nil {
		return fmt.Errorf("list workspaces with deleted skills: %w", err)
	}
	var errs []error
	for _, ws := range due {
		if err := r.Store.EraseDeleted(ctx, ws, deletedAtOnce); err != nil {
			errs = append(errs, fmt.Errorf("erase deleted skills of workspace %d: %w", ws, err))
		}
	}
	return errors.Join(errs...)
}

// deletedAtOnce limits the skills of a workspace that are erased in one transaction. The next pass
// continues.
const deletedAtOnce = 500

// purge removes what has expired.
func (r *Relay) purge(ctx context.Context) error {
	for {
		n, err := r.Store.Purge(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
}
