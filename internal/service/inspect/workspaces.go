package inspect

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/ports"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/curate"
	"cairn/internal/service/dump"
)

// WorkspacePorts are what the view of workspaces works with.
type WorkspacePorts struct {
	Store WorkspaceStore
	// Check refuses settings of memory that nothing here can follow.
	Check func(settings.LongTerm) error
}

// Workspaces shows workspaces and changes their settings.
type Workspaces struct{ WorkspacePorts }

// NewWorkspaces makes the view of workspaces. A required port that is nil is an error.
func NewWorkspaces(p WorkspacePorts) (*Workspaces, error) {
	err := ports.Require("inspect workspaces", map[string]any{"Store": p.Store, "Check": p.Check})
	if err != nil {
		return nil, err
	}
	return &Workspaces{WorkspacePorts: p}, nil
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
