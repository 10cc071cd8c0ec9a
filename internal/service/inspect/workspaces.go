package inspect

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/curate"
	"cairn/internal/service/dump"
)

// Workspaces shows workspaces and changes their settings.
type Workspaces struct {
	Store WorkspaceStore
	// Check refuses settings of memory that nothing here can follow.
	Check func(settings.LongTerm) error
}

// Find is the workspace that a caller names.
func (s *Workspaces) Find(ctx context.Context, name string) (tenancy.Workspace, error) {
	return s.Store.Workspace(ctx, name, false)
}

// Insights tells what a workspace used and spent within some days up to now.
func (s *Workspaces) Insights(ctx context.Context, ws int64, days int) (curate.Insights, error) {
	out, err := s.Store.Insights(ctx, ws, time.Duration(days)*24*time.Hour)
	out.Days = days
	return out, err
}

// Counts tells how much a workspace remembers.
func (s *Workspaces) Counts(ctx context.Context, ws int64) (dump.Counts, error) {
	return s.Store.Counts(ctx, ws)
}

// Entities lists whom memories are for, by kind and name.
func (s *Workspaces) Entities(ctx context.Context, ws int64, max int) ([]Entity, error) {
	return s.Store.Entities(ctx, ws, max)
}

// Settings are what a workspace chose, defaults included.
func (s *Workspaces) Settings(ctx context.Context, ws int64) (settings.Settings, error) {
	return s.Store.Settings(ctx, ws)
}

// ChangeSettings applies a JSON merge patch to the settings and returns all of them.
func (s *Workspaces) ChangeSettings(ctx context.Context, ws int64, patch json.RawMessage) (settings.Settings, error) {
	return s.Store.PatchSettings(ctx, ws, patch, func(all settings.Settings) error { return s.Check(all.Memory) })
}
