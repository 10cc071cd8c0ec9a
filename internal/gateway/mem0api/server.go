package mem0api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// Routes of mem0's self-hosted server for its configuration, its keys and its log of
// requests.

func (c *call) configuration() (any, error) {
	return map[string]any{"version": "v1.1", "vector_store": map[string]any{"provider": "pgvector"},
		"llm": map[string]any{"provider": "openai", "config": map[string]any{"model": c.options.Model}},
		"embedder": map[string]any{"provider": "openai",
			"config": map[string]any{"model": c.Embedder.Model(), "embedding_dims": c.Embedder.Dims()}}}, nil
}

func (c *call) configure() (any, error) {
	return nil, fault.New(fault.OutOfScope,
		"models and stores are configured by the operator for all workspaces",
		"set them in the environment, see `cairn config`; change settings of the workspace with PATCH /v1/settings")
}

func (c *call) providers() (any, error) {
	return map[string]any{"llm": []string{"openai"}, "embedder": []string{"openai"},
		"vector_store": []string{"pgvector"}}, nil
}

// setupStatus reports that no setup is needed, because Cairn has keys instead of accounts.
func (c *call) setupStatus() (any, error) { return map[string]bool{"needsSetup": false}, nil }

// me describes the holder of the key.
func (c *call) me() (any, error) {
	role := "member"
	if access.Admin.Allows(c.from.Scopes) {
		role = "admin"
	}
	return map[string]any{"id": c.from.Workspace.Key, "name": c.from.Workspace.Name, "email": nil, "role": role,
		"scopes": c.from.Scopes}, nil
}

// mem0Key is a key in the form of mem0.
type mem0Key struct {
	ID      string    `json:"id"`
	Key     string    `json:"key,omitempty"` // only in the response that creates the key
	Label   string    `json:"label"`
	Prefix  string    `json:"key_prefix"`
	Scopes  []string  `json:"scopes"`
	Created time.Time `json:"created_at"`

	Used *time.Time `json:"last_used_at"` // to five minutes; null before the first use
}

func mem0KeyOf(k access.Key) mem0Key {
	return mem0Key{ID: strconv.FormatInt(k.ID, 10), Label: k.Name, Prefix: k.Hint, Scopes: k.Scopes,
		Created: k.CreatedAt, Used: k.UsedAt}
}

func (c *call) keys() (any, error) {
	all, err := c.Keys.List(c.r.Context(), c.from.Workspace.ID)
	out := []mem0Key{}
	for _, k := range slices.Backward(all) { // the newest first
		if k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(time.Now())) {
			out = append(out, mem0KeyOf(k))
		}
	}
	return out, err
}

// makeKey creates a key with the scopes read and write, unless the request sets scopes.
func (c *call) makeKey() (any, error) {
	in := struct {
		Label  string         `json:"label"`
		Scopes []access.Scope `json:"scopes"`
	}{Scopes: []access.Scope{access.Read, access.Write}}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	key, made, err := c.Keys.Create(c.r.Context(), c.from.Workspace.ID, in.Label, in.Scopes)
	out := mem0KeyOf(made)
	out.Key = key
	return out, err
}

func (c *call) revokeKey() (any, error) {
	id, err := strconv.ParseInt(c.r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fault.New(fault.NotFound, "API key not found.", "list keys with GET /api-keys")
	}
	return message("API key revoked."), c.Keys.Revoke(c.r.Context(), c.from.Workspace.ID, id)
}

// mem0Request is a run in the form of mem0's requests.
type mem0Request struct {
	ID      string    `json:"id"`
	Method  string    `json:"method"`
	Path    string    `json:"path"` // path of the route that starts runs of this kind
	Status  int       `json:"status_code"`
	Latency float64   `json:"latency_ms"` // until the end of the run, or until now
	Auth    string    `json:"auth_type"`
	Created time.Time `json:"created_at"`
}

// startedBy maps kinds of runs to the routes that start them.
var startedBy = map[run.Kind]string{run.Summarize: "/memories", run.Retrieve: "/v1/retrieve_memory",
	run.Turn: "/v1/turns", run.Distill: "/v1/distill"}

// requests lists the runs that callers started. Cairn has no other log of requests.
func (c *call) requests() (any, error) {
	limit, err := c.number("limit", 50, 200)
	if err != nil {
		return nil, err
	}
	all, err := c.latestRuns()
	out := []mem0Request{}
	for _, r := range all {
		path, asked := startedBy[r.Kind]
		if !asked || len(out) == limit {
			continue
		}
		one := mem0Request{ID: r.Key, Method: http.MethodPost, Path: path, Status: http.StatusAccepted, Auth: "api_key",
			Created: r.CreatedAt, Latency: float64(time.Since(r.CreatedAt).Milliseconds())}
		if r.Status == run.Ended {
			one.Status = http.StatusOK
			if r.Outcome == run.Failed {
				one.Status = http.StatusInternalServerError
			}
			if r.EndedAt != nil {
				one.Latency = float64(r.EndedAt.Sub(r.CreatedAt).Microseconds()) / 1000
			}
		}
		out = append(out, one)
	}
	return out, err
}

// runsSeen is how many of a workspace's latest runs requests and events search.
const runsSeen = 1000

func (c *call) latestRuns() (out []run.Summary, err error) {
	return c.Runs.List(c.r.Context(), c.from.Workspace.ID, runsSeen)
}

// number parses a query parameter.
func (c *call) number(name string, otherwise, most int) (int, error) {
	given := c.r.URL.Query().Get(name)
	if given == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > most {
		return 0, fault.Newf(fault.InvalidArgument, "invalid %s %q: must be 1 to %d", name, given, most)
	}
	return n, nil
}

func message(text string) map[string]string { return map[string]string{"message": text} }

// notOffered returns a handler for a mem0 route that Cairn does not support. The hint
// names the alternative.
func notOffered(instead string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		path := c.r.URL.Path
		return nil, fault.New(fault.NotImplemented, strings.TrimPrefix(path, "/mem0")+" is not supported by Cairn",
			instead)
	}
}
