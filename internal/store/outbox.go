package store

import (
	"context"
	"time"

	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// Enqueue records an outbox task in the transaction that requires it. The relay delivers it after
// wait, because the caller normally does so at once.
func (q OutboxRepository) Enqueue(ctx context.Context, kind, key string, wait time.Duration) error {
	return classify("record an outbox task", q.q.OutboxPut(ctx,
		dbsqlc.OutboxPutParams{WorkspaceID: q.ws, Kind: kind, Key: key, Wait: wait}))
}

// Settle removes a completed task. It succeeds if the task does not exist.
func (q OutboxRepository) Settle(ctx context.Context, kind, key string) error {
	_, err := q.q.OutboxDone(ctx, dbsqlc.OutboxDoneParams{WorkspaceID: q.ws, Kind: kind, Key: key})
	return classify("remove an outbox task", err)
}

// enqueueRun records the outbox task that drives a run of the workspace to its end.
func (q OutboxRepository) enqueueRun(ctx context.Context, id string, wait time.Duration) error {
	return classify("record an outbox task", q.q.OutboxPutRun(ctx, dbsqlc.OutboxPutRunParams{
		Awaited: outbox.Awaited(), AwaitedKind: outbox.DriveTurn, OtherKind: outbox.DriveRun, Wait: wait,
		WorkspaceID: q.ws, ID: id}))
}

// ClaimOutbox claims up to max due tasks of the given kinds. A claim moves the due time into the future,
// so the tasks of a crashed relay become due again.
func (s *Store) ClaimOutbox(ctx context.Context, kinds []string, max int) (out []outbox.Task, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.OutboxClaim(ctx, dbsqlc.OutboxClaimParams{Kinds: kinds, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, outbox.Task{Workspace: r.WorkspaceID, ID: r.ID, Kind: r.Kind, Key: r.Key,
				Attempts: int(r.Attempts), Failures: int(r.Failures),
				Claim: time.Duration(r.ClaimSeconds * float64(time.Second))})
		}
		return err
	})
	return out, err
}

// FailOutboxTask stores that an attempt at a task failed, and why.
func (s *Store) FailOutboxTask(ctx context.Context, d outbox.Task, why string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return q.OutboxFail(ctx, dbsqlc.OutboxFailParams{LastError: storable(why), ID: d.ID})
	})
}

// RecoverOutboxTask stores that an attempt at a task that stays succeeded.
func (s *Store) RecoverOutboxTask(ctx context.Context, d outbox.Task) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error { return q.OutboxRecover(ctx, d.ID) })
}

// StuckOutboxTasks lists up to max tasks that fail again and again, the longest first.
func (s *Store) StuckOutboxTasks(ctx context.Context, max int) (out []outbox.StuckTask, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.OutboxStuck(ctx, dbsqlc.OutboxStuckParams{Failures: outbox.StuckFailures, Age: outbox.StuckAge,
			MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, outbox.StuckTask{Workspace: r.WorkspaceID, Kind: r.Kind, Key: r.Key,
				Failures: int(r.Failures), LastError: r.LastError,
				Since: time.Duration(r.Seconds * float64(time.Second))})
		}
		return err
	})
	return out, err
}

// Outbox returns the store of the relay.
func (s *Store) Outbox() Outbox { return Outbox{s} }

// Outbox has what the relay does in transactions of its own.
type Outbox struct{ *Store }

// CollectPackage deletes a package that nothing uses, unless it was used within grace, and returns its key.
func (s Outbox) CollectPackage(ctx context.Context, p outbox.IdlePackage, grace time.Duration) (string, error) {
	return inWorkspace(ctx, s.Store, p.Workspace, func(ctx context.Context, q Tx) (string, error) {
		return q.Packages().CollectPackage(ctx, p, grace)
	})
}

// ForgetPackage removes the record of a package whose objects are deleted.
func (s Outbox) ForgetPackage(ctx context.Context, p outbox.IdlePackage) error {
	return s.Store.InWorkspace(ctx, p.Workspace, func(ctx context.Context, q Tx) error {
		return q.Packages().ForgetPackage(ctx, p.SHA)
	})
}

// EraseDeleted erases up to max skills whose time for an undo is over.
func (s Outbox) EraseDeleted(ctx context.Context, ws int64, max int) error {
	return s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		_, err := q.DeletedSkills().EraseDeleted(ctx, max)
		return err
	})
}
