package inspect

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// WorkspacePorts are the dependencies of Workspaces.
type WorkspacePorts struct {
	Store store.Workspaces
	// Check rejects memory settings that this installation does not support.
	Check func(settings.LongTerm) error
}

// Workspaces reads workspaces and changes their settings.
type Workspaces struct{ WorkspacePorts }

// NewWorkspaces returns a Workspaces.
func NewWorkspaces(p WorkspacePorts) *Workspaces {
	return &Workspaces{WorkspacePorts: p}
}

// Find returns the workspace with the given name.
func (s *Workspaces) Find(ctx context.Context, name string) (access.Workspace, error) {
	return s.Store.Workspace(ctx, name, false)
}

// Insights returns the usage and cost of a workspace in the last days.
func (s *Workspaces) Insights(ctx context.Context, ws int64, days int) (readmodel.Insights, error) {
	out, err := s.Store.Insights(ctx, ws, time.Duration(days)*24*time.Hour)
	out.Days = days
	return out, err
}

// Counts returns the numbers of objects in a workspace.
func (s *Workspaces) Counts(ctx context.Context, ws int64) (dumpfile.Counts, error) {
	return s.Store.Counts(ctx, ws)
}

// Entities lists the subjects of memories by kind and name.
func (s *Workspaces) Entities(ctx context.Context, ws int64, max int) ([]readmodel.Entity, error) {
	return s.Store.Entities(ctx, ws, max)
}

// Settings returns the settings of a workspace, including defaults.
func (s *Workspaces) Settings(ctx context.Context, ws int64) (settings.Settings, error) {
	return s.Store.Settings(ctx, ws)
}

// PreviewSettings returns what ChangeSettings would make of the settings, and changes nothing.
func (s *Workspaces) PreviewSettings(ctx context.Context, ws int64, patch json.RawMessage) (before,
	after settings.Settings, err error) {
	if before, err = s.Settings(ctx, ws); err != nil {
		return before, after, err
	}
	if after, err = settings.Patch(before, patch); err != nil {
		return before, after, err
	}
	return before, after, s.Check(after.Memory)
}

// ChangeSettings applies a JSON merge patch to the settings and returns the result.
func (s *Workspaces) ChangeSettings(ctx context.Context, ws int64, patch json.RawMessage) (settings.Settings, error) {
	return s.Store.PatchSettings(ctx, ws, patch, func(all settings.Settings) error { return s.Check(all.Memory) })
}
