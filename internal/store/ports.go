package store

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// Outbox returns the store of the relay.
func (s *Store) Outbox() Outbox { return Outbox{s} }

type Outbox struct{ *Store }

func (s Outbox) CollectPackage(ctx context.Context, p outbox.IdlePackage, grace time.Duration) (string, error) {
	return inWorkspace(ctx, s.Store, p.Workspace, func(ctx context.Context, q Tx) (string, error) {
		return q.Packages().CollectPackage(ctx, p, grace)
	})
}

func (s Outbox) ForgetPackage(ctx context.Context, p outbox.IdlePackage) error {
	return s.Store.InWorkspace(ctx, p.Workspace, func(ctx context.Context, q Tx) error {
		return q.Packages().ForgetPackage(ctx, p.SHA)
	})
}

func (s Outbox) EraseDeleted(ctx context.Context, ws int64, max int) error {
	return s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		_, err := q.DeletedSkills().EraseDeleted(ctx, max)
		return err
	})
}

// Keys returns the store of API keys.
func (s *Store) Keys() Keys { return Keys{s} }

type Keys struct{ *Store }

func (s Keys) PutKey(ctx context.Context, ws int64, k access.Key, hash access.KeyHash) (access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (access.Key, error) {
		return q.Keys().PutKey(ctx, k, hash)
	})
}

func (s Keys) Keys(ctx context.Context, ws int64) ([]access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]access.Key, error) {
		return q.Keys().Keys(ctx)
	})
}

func (s Keys) RevokeKey(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return q.Keys().RevokeKey(ctx, id) })
}

func (s Keys) RotateKey(ctx context.Context, ws int64, r access.KeyRotation) (access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (access.Key, error) {
		return q.Keys().RotateKey(ctx, r)
	})
}

func (s Keys) UseKey(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		return classify("record the use of the key", q.q.KeyUsed(ctx, dbsqlc.KeyUsedParams{WorkspaceID: ws, ID: id}))
	})
}

func (s Keys) Principal(ctx context.Context, hash access.KeyHash) (access.Principal, access.KeyUsage, error) {
	return s.principal(ctx, hash)
}

// Workspaces returns the reader of data about whole workspaces. Each method uses its own
// transaction.
func (s *Store) Workspaces() Workspaces { return Workspaces{s} }

// Workspaces implements inspect.WorkspaceStore, feedback.Store and reflection.Workspaces.
type Workspaces struct{ *Store }

// Self returns a workspace by its ID.
func (s Workspaces) Self(ctx context.Context, ws int64) (tenancy.Workspace, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (tenancy.Workspace, error) {
		return q.Workspaces().Self(ctx)
	})
}

// Insights returns the use and the costs of a workspace within a span up to now.
func (s Workspaces) Insights(ctx context.Context, ws int64, span time.Duration) (readmodel.Insights, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (readmodel.Insights, error) {
		return q.Curation().Insights(ctx, span)
	})
}

// Counts returns the number of memories and conversations of a workspace.
func (s Workspaces) Counts(ctx context.Context, ws int64) (dumpfile.Counts, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (dumpfile.Counts, error) {
		return q.Dump().Counts(ctx)
	})
}

// Entities lists the targets of memories.
func (s Workspaces) Entities(ctx context.Context, ws int64, max int) ([]readmodel.Entity, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Entity, error) {
		return q.Documents().Entities(ctx, max)
	})
}

// Settings reads the settings of a workspace, with defaults for those that are not set.
func (s Workspaces) Settings(ctx context.Context, ws int64) (settings.Settings, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (settings.Settings, error) {
		return q.Workspaces().Settings(ctx)
	})
}

// PatchSettings applies a JSON merge patch if check accepts the result.
func (s Workspaces) PatchSettings(ctx context.Context, ws int64, patch json.RawMessage,
	check func(settings.Settings) error) (settings.Settings, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (settings.Settings, error) {
		all, err := q.Workspaces().PatchSettings(ctx, patch)
		if err == nil {
			err = check(all)
		}
		return all, err
	})
}

// Transcript reads a conversation with at least the messages up to seq.
func (s Workspaces) Transcript(ctx context.Context, ws int64, name string, seq int) (id int64,
	c transcript.Conversation, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, name)
		if err == nil {
			id = v.ID
			c, err = q.Transcripts().Conversation(ctx, v.ID, 0, max(seq, v.Messages))
		}
		return err
	})
	return id, c, err
}

// inWorkspace returns the result of fn in a transaction that has entered ws.
func inWorkspace[T any](ctx context.Context, s *Store, ws int64,
	fn func(context.Context, Tx) (T, error)) (out T, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) (err error) {
		out, err = fn(ctx, q)
		return err
	})
	return out, err
}
