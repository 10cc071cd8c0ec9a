package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Memory is a stored memory.
type Memory struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"` // see Types
	Target    string         `json:"target"`
	Content   string         `json:"content"`
	WhenToUse string         `json:"when_to_use"` // situation in which the memory helps; may be empty
	Metadata  map[string]any `json:"metadata"`
	Version   int            `json:"version"` // from 1
	Status    string         `json:"status"`  // such as active or removed
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

// NewMemory is a long-term memory to add.
type NewMemory struct {
	Content   string         `json:"content"`               // one fact
	Type      string         `json:"memory_type"`           // see Types
	Target    string         `json:"memory_target"`         // name of the subject, such as a person or a domain
	WhenToUse string         `json:"when_to_use,omitempty"` // situation in which the memory helps
	Metadata  map[string]any `json:"metadata,omitempty"`
	EventTime *time.Time     `json:"event_time,omitempty"` // time of the described event
}

// WriteResult is the result of a change.
type WriteResult struct {
	Action string   `json:"action"` // such as added, already_exists, updated or deleted
	IDs    []string `json:"ids"`    // IDs of the memories
}

// once returns the idempotency key of a change.
func (s settings) once() string {
	if s.id != "" {
		return s.id
	}
	return rand.Text()
}

// Add adds a memory. If the target has a memory with the same content, Add returns its ID and
// the action already_exists. Calls with the same [RequestID] take effect once.
func (c *Client) Add(ctx context.Context, m NewMemory, options ...Option) (out WriteResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/memories", m, &out, c.usual.with(options).once())
}

// AddResult is the result of one memory of [Client.AddAll] or [Client.InferAll].
type AddResult struct {
	ID      string `json:"id"`
	Request string `json:"request_id"` // that infers memories, see [Client.Request]
	Status  string `json:"status"`     // added, duplicate, updated, accepted or failed
	Code    string `json:"code"`       // of a failure; see the error codes of the HTTP API
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// AddAll adds up to 1,000 memories in one transaction and returns the result of each. An invalid
// memory fails alone. Calls with the same [RequestID] take effect once.
func (c *Client) AddAll(ctx context.Context, memories []NewMemory, options ...Option) ([]AddResult, error) {
	return c.batch(ctx, false, memories, options)
}

// InferAll accepts up to 1,000 statements of users, in Content, from which memories of their targets are inferred. It
// returns before that, with the request of each statement. The type is personal by default. Calls with the same
// [RequestID] take effect once.
func (c *Client) InferAll(ctx context.Context, statements []NewMemory, options ...Option) ([]AddResult, error) {
	statements = slices.Clone(statements)
	for i := range statements {
		if statements[i].Type == "" {
			statements[i].Type = "personal"
		}
	}
	return c.batch(ctx, true, statements, options)
}

func (c *Client) batch(ctx context.Context, infer bool, memories []NewMemory, options []Option) ([]AddResult, error) {
	var out struct {
		Results []AddResult `json:"results"`
	}
	body := map[string]any{"infer": infer, "memories": memories}
	err := c.call(ctx, http.MethodPost, "/v1/memories/batch", body, &out, c.usual.with(options).once())
	return out.Results, err
}

// Get returns a memory, whatever its status. It returns [ErrNotFound] if the memory does not
// exist.
func (c *Client) Get(ctx context.Context, id string) (out Memory, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/memories/"+url.PathEscape(id), nil, &out, "")
}

// List returns the long-term memories of [Types] and [Targets], the oldest first. By default,
// it returns all types.
func (c *Client) List(ctx context.Context, options ...Option) (out []Memory, err error) {
	s := c.usual.with(options)
	q := url.Values{"memory_types": {"personal,procedural,tool,summary"}}
	if len(s.types) > 0 {
		q["memory_types"] = []string{strings.Join(s.types, ",")}
	}
	for _, t := range s.targets {
		q.Add("targets", t.Target)
	}
	for {
		var page struct {
			Memories []Memory `json:"memories"`
			Next     string   `json:"next_cursor"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/memories?"+q.Encode(), nil, &page, ""); err != nil {
			return out, err
		}
		out = append(out, page.Memories...)
		if page.Next == "" {
			return out, nil
		}
		q.Set("cursor", page.Next)
	}
}

// Update replaces the content of a memory, which gets a new version and keeps its ID. It
// returns [ErrNotFound] if the memory does not exist.
func (c *Client) Update(ctx context.Context, id, content string, options ...Option) (out WriteResult, err error) {
	return out, c.call(ctx, http.MethodPut, "/v1/memories/"+url.PathEscape(id), map[string]string{"content": content},
		&out, c.usual.with(options).once())
}

// Delete deletes a memory: its status becomes removed, and searches no longer find it. Its
// history stays. It returns [ErrNotFound] if the memory does not exist.
func (c *Client) Delete(ctx context.Context, id string, options ...Option) (out WriteResult, err error) {
	return out, c.call(ctx, http.MethodDelete, "/v1/memories/"+url.PathEscape(id), nil, &out,
		c.usual.with(options).once())
}

// DeleteAll deletes the long-term memories of [Types] and [Targets] one by one and returns
// their IDs. It requires at least one of the two options, so it never empties a workspace.
// If a delete fails, it returns the IDs deleted so far with the error.
func (c *Client) DeleteAll(ctx context.Context, options ...Option) (ids []string, err error) {
	s := c.usual.with(options)
	if len(s.types)+len(s.targets) == 0 {
		return nil, &Error{Code: ErrInvalidArgument.Code, Message: "missing filter",
			Hint: "pass client.Types or client.Targets to select memories"}
	}
	all, err := c.List(ctx, options...)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		matches := func(t Target) bool { return t.Target == m.Target && (t.Type == "" || t.Type == m.Type) }
		if len(s.targets) > 0 && !slices.ContainsFunc(s.targets, matches) {
			continue // same name, other type
		}
		if _, err := c.Delete(ctx, m.ID); err != nil {
			return ids, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}
