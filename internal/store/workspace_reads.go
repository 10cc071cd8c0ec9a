package store

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
)

// Workspaces returns the reader of data about whole workspaces. Each method uses its own
// transaction.
func (s *Store) Workspaces() Workspaces { return Workspaces{s} }

// Workspaces reads whole workspaces.
type Workspaces struct{ *Store }

// Self returns a workspace by its ID.
func (s Workspaces) Self(ctx context.Context, ws int64) (access.Workspace, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (access.Workspace, error) {
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
