package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// Key is an API key of the workspace.
type Key struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Hint       string     `json:"hint"`   // its last characters
	Scopes     []string   `json:"scopes"` // read, write or admin
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	ExpiresAt  *time.Time `json:"expires_at"` // nil if it does not expire
	RevokedAt  *time.Time `json:"revoked_at"`
}

// Keys lists the keys of the workspace in order of creation, including revoked ones. It needs the scope admin.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var out struct {
		Keys []Key `json:"keys"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/keys", nil, &out, "")
	return out.Keys, err
}

// NewKey describes a key to create.
type NewKey struct {
	Name      string     `json:"name"`                 // of its user
	Scopes    []string   `json:"scopes"`               // none above those of the caller's key
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: as the caller's key
}

// CreateKey creates a key of the workspace and returns it. No later call returns the secret. It needs the scope admin.
func (c *Client) CreateKey(ctx context.Context, k NewKey) (secret string, made Key, err error) {
	var out struct {
		Secret string `json:"key"`
		Key
	}
	err = c.call(ctx, http.MethodPost, "/v1/keys", k, &out, rand.Text())
	return out.Secret, out.Key, err
}

// RevokeKey revokes a key. Gateways reject it within seconds. It needs the scope admin.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodDelete, fmt.Sprintf("/v1/keys/%d", id), nil, nil, rand.Text())
}

// Session is a browser that is signed in to the web console.
type Session struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`   // of its key
	Scopes     []string  `json:"scopes"` // in this workspace
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"`
	EndsAt     time.Time `json:"ends_at"`
}

// Sessions lists the browsers that are signed in to the web console, the latest first. It needs the scope admin.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	var out struct {
		Sessions []Session `json:"sessions"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/sessions", nil, &out, "")
	return out.Sessions, err
}

// EndSession signs a browser out. It needs the scope admin.
func (c *Client) EndSession(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodDelete, fmt.Sprintf("/v1/sessions/%d", id), nil, nil, rand.Text())
}

// AuditEvent is a recorded action.
type AuditEvent struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Action string    `json:"action"` // such as key.create
	Object string    `json:"object"`
	Actor  struct {
		Kind  string `json:"kind"` // key, operator, cli or system
		Name  string `json:"name"`
		KeyID int64  `json:"key_id"`
	} `json:"actor"`
	Address   string `json:"address"`
	RequestID string `json:"request_id"`
}

// AuditFilter selects audit events. Zero values select all.
type AuditFilter struct {
	Action string
	Since  time.Time // included
	Until  time.Time // not included
}

// Audit lists audit events, the latest first. It needs the scope admin. The iterator requests more of them as it needs
// them, and ends after an error.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEvent, error] {
	return list[AuditEvent](ctx, c, "/v1/audit", "events", query("action", f.Action, "since", instant(f.Since),
		"until", instant(f.Until)))
}

// Person is a user or a group of a chat platform that belongs to the workspace.
type Person struct {
	Account   string    `json:"account"` // of the chat platform
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	User      string    `json:"user"`
	Workspace string    `json:"workspace"`
	CreatedAt time.Time `json:"created_at"`
}

// People lists the users and groups of chat platforms that belong to the workspace. See [Client.Audit] for the
// iterator.
func (c *Client) People(ctx context.Context) iter.Seq2[Person, error] {
	return list[Person](ctx, c, "/v1/people", "people", nil)
}

// ApprovePerson lets the user with a pairing code write. It needs the key of a gateway, and a code of its account.
func (c *Client) ApprovePerson(ctx context.Context, code string) (out Person, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/people/approve", map[string]string{"code": code}, &out, rand.Text())
	return out, err
}

// Delivery is a message to a chat platform.
type Delivery struct {
	ID    int64  `json:"id"`
	State string `json:"state"` // streaming, ready, sent, dead or dropped
	Place struct {
		Account string `json:"account"`
		Chat    string `json:"chat"`
		Thread  string `json:"thread"`
	} `json:"place"`
	Source    string     `json:"source"`
	Attempts  int        `json:"attempts"`
	Reason    string     `json:"reason"` // why it is dead
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// Deliveries lists messages to chat platforms in a state, or all if state is empty, the latest first. See
// [Client.Audit] for the iterator.
func (c *Client) Deliveries(ctx context.Context, state string) iter.Seq2[Delivery, error] {
	return list[Delivery](ctx, c, "/v1/deliveries", "deliveries", query("state", state))
}

// RetryDelivery sends a dead delivery again. It needs the scope admin.
func (c *Client) RetryDelivery(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/deliveries/%d/retry", id), nil, nil, rand.Text())
}

// DropDelivery gives a dead delivery up. It needs the scope admin.
func (c *Client) DropDelivery(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/deliveries/%d/drop", id), nil, nil, rand.Text())
}

// SettingDescription describes a setting of the workspace.
type SettingDescription struct {
	Name        string          `json:"name"` // with the names of its groups, such as nudge.every
	Type        string          `json:"type"`
	Default     json.RawMessage `json:"default"`
	Description string          `json:"description"` // meaning, range and effect
}

// SettingDescriptions describes all settings.
func (c *Client) SettingDescriptions(ctx context.Context) ([]SettingDescription, error) {
	var out struct {
		Settings []SettingDescription `json:"settings"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/settings/schema", nil, &out, "")
	return out.Settings, err
}

// Settings returns the settings of the workspace, including defaults, in nested groups.
func (c *Client) Settings(ctx context.Context) (out map[string]any, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/settings", nil, &out, "")
}

// ChangeSettings changes settings and returns all of them. Settings that are not in changes stay, and nil resets one to
// its default. It needs the scope admin.
func (c *Client) ChangeSettings(ctx context.Context, changes map[string]any) (out map[string]any, err error) {
	return out, c.call(ctx, http.MethodPatch, "/v1/settings", changes, &out, rand.Text())
}
