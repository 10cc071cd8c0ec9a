package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/store/dbsqlc"
)

// Workspace finds a workspace by its external name. If make is set, it creates a missing one.
func (s *Store) Workspace(ctx context.Context, name string, make bool) (access.Workspace, error) {
	if n := len([]rune(name)); n == 0 || n > 200 {
		return access.Workspace{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid workspace name: %d characters, 1 to 200 are allowed", n), "")
	}
	if w, ok := s.workspaces.Get(name); ok {
		return w, nil
	}
	var row dbsqlc.WorkspaceOpenRow
	err := s.asApp(ctx, func(q *dbsqlc.Queries) (err error) {
		row, err = q.WorkspaceOpen(ctx, dbsqlc.WorkspaceOpenParams{ExternalID: name, Make: make})
		return err
	})
	if isNoRows(err) {
		return access.Workspace{}, fault.New(fault.NotFound, fmt.Sprintf("workspace %q not found", name),
			"`cairn workspaces list` shows the workspaces; `cairn workspaces create NAME` creates one")
	}
	if err != nil {
		return access.Workspace{}, classify("find the workspace", err)
	}
	w := access.Workspace{ID: row.ID, Name: name, Key: row.Key}
	s.workspaces.Add(name, w)
	return w, nil
}

// ListedWorkspace is a workspace in a list.
type ListedWorkspace struct {
	Name      string    `json:"name"`
	State     string    `json:"state"` // active or erasing
	CreatedAt time.Time `json:"created_at"`
}

// ListWorkspaces lists at most most workspaces by name: those whose name starts with prefix and comes
// after the name after.
func (s *Store) ListWorkspaces(ctx context.Context, prefix, after string, most int) ([]ListedWorkspace, error) {
	out := []ListedWorkspace{}
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.WorkspaceList(ctx, dbsqlc.WorkspaceListParams{Prefix: prefix, After: after, Most: int32(most)})
		for _, r := range rows {
			out = append(out, ListedWorkspace{Name: r.Name, State: r.State, CreatedAt: r.CreatedAt})
		}
		return classify("list the workspaces", err)
	})
	return out, err
}

// WorkspaceByKey finds a workspace by its key in workflows.
func (s *Store) WorkspaceByKey(ctx context.Context, key string) (w access.Workspace, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		row, err := q.WorkspaceByKey(ctx, key)
		if isNoRows(err) {
			return fault.New(fault.NotFound, "workspace not found", "")
		}
		w = access.Workspace{ID: row.ID, Name: row.ExternalID, Key: key}
		return classify("find the workspace", err)
	})
	return w, err
}

// forget removes an erased workspace from the cache: its name then refers to a new workspace.
func (s *Store) forget(id int64) {
	for _, name := range s.workspaces.Keys() {
		if w, ok := s.workspaces.Peek(name); ok && w.ID == id {
			s.workspaces.Remove(name) // a new workspace of that name is read again
		}
	}
}

// Self returns the workspace of the transaction.
func (q WorkspaceRepository) Self(ctx context.Context) (access.Workspace, error) {
	row, err := q.q.WorkspaceKey(ctx, q.ws)
	return access.Workspace{ID: q.ws, Name: row.ExternalID, Key: row.Key}, classify("read the workspace", err)
}

// Settings reads the workspace's settings, with defaults for those that are not set.
func (q WorkspaceRepository) Settings(ctx context.Context) (settings.Settings, error) {
	row, err := q.q.WorkspaceSettings(ctx, q.ws)
	if err != nil {
		return settings.Settings{}, classify("read the settings", err)
	}
	out, err := settings.Read(row.Settings)
	out.TimeZone, out.ReflectionCron = row.TimeZone, row.ReflectionCron
	return out, err
}

// SetSettings replaces the workspace's settings. An empty time zone or cron expression stays
// unchanged. Tasks whose clock has changed are planned again.
func (q WorkspaceRepository) SetSettings(ctx context.Context, v settings.Settings) error {
	if err := v.Validate(); err != nil {
		return err
	}
	raw, err := settings.Write(v)
	if err != nil {
		return err
	}
	before, err := q.q.WorkspaceSettingsLock(ctx, q.ws)
	if err != nil {
		return classify("read the settings", err)
	}
	n, err := q.q.WorkspaceSettingsSet(ctx,
		dbsqlc.WorkspaceSettingsSetParams{WorkspaceID: q.ws, Settings: raw, TimeZone: v.TimeZone,
			ReflectionCron: v.ReflectionCron})
	if err := oneRow("write the settings", n, classify("write the settings", err)); err != nil {
		return err
	}
	if err := q.q.SchedulesRestart(ctx, q.ws); err != nil {
		return classify("plan the scheduled tasks again", err)
	}
	moved := v.TimeZone != "" && v.TimeZone != before.TimeZone
	if !moved && (v.ReflectionCron == "" || v.ReflectionCron == before.ReflectionCron) {
		return nil
	}
	return q.transaction().Schedules().replan(ctx, moved)
}
