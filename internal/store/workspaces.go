package store

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/fault"
	"cairn/internal/store/dbsqlc"
)

// Workspace is the isolation boundary. Key stands for it in workflow ids and
// search attributes, where its name must not be seen.
type Workspace struct {
	ID   int64
	Name string
	Key  string
}

// Settings are a workspace's own limits. Zero means no limit.
type Settings struct {
	TokensPerDay int64 `json:"tokens_per_day,omitempty"`
	MicrosPerDay int64 `json:"micros_per_day,omitempty"` // micro-dollars
}

// Workspace finds a workspace by the caller's name for it, and makes it when
// make is set.
func (s *Store) Workspace(ctx context.Context, name string, make bool) (Workspace, error) {
	if n := len([]rune(name)); n == 0 || n > 200 {
		return Workspace{}, fault.New(fault.InvalidArgument, fmt.Sprintf("a workspace name has 1 to 200 characters, this one has %d", n), "")
	}
	if w, ok := s.workspaces.Load(name); ok {
		return w.(Workspace), nil
	}
	row, err := dbsqlc.New(s.app).WorkspaceOpen(ctx, dbsqlc.WorkspaceOpenParams{ExternalID: name, Make: make})
	if isNoRows(err) {
		return Workspace{}, fault.New(fault.NotFound, fmt.Sprintf("there is no workspace %q", name), "it is made by the first conversation that is sent to it")
	}
	if err != nil {
		return Workspace{}, classify("find the workspace", err)
	}
	w := Workspace{ID: row.ID, Name: name, Key: row.Key}
	s.workspaces.Store(name, w)
	return w, nil
}

// Self is the workspace that was entered.
func (q Queries) Self(ctx context.Context) (Workspace, error) {
	row, err := q.q.WorkspaceKey(ctx, q.ws)
	return Workspace{ID: q.ws, Name: row.ExternalID, Key: row.Key}, classify("read the workspace", err)
}

// Settings reads the workspace's limits.
func (q Queries) Settings(ctx context.Context) (Settings, error) {
	row, err := q.q.WorkspaceSettings(ctx, q.ws)
	if err != nil {
		return Settings{}, classify("read the settings", err)
	}
	return settingsOf(row.Settings)
}

func settingsOf(raw json.RawMessage) (out Settings, err error) {
	if err := json.Unmarshal(raw, &out); err != nil {
		return Settings{}, fmt.Errorf("decode the settings: %w", err)
	}
	return out, nil
}

// SetSettings replaces the workspace's limits.
func (q Queries) SetSettings(ctx context.Context, v Settings) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the settings: %w", err)
	}
	_, err = q.q.WorkspaceSettingsSet(ctx, dbsqlc.WorkspaceSettingsSetParams{WorkspaceID: q.ws, Settings: raw})
	return classify("write the settings", err)
}

// Space finds or makes the embedding space of a model.
func (s *Store) Space(ctx context.Context, model string, dims int) (int16, error) {
	id, err := dbsqlc.New(s.app).SpaceOpen(ctx, dbsqlc.SpaceOpenParams{Model: model, Dims: int32(dims)})
	return id, classify("open the embedding space", err)
}
