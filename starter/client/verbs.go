package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is an OpenAI chat message.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCalls  []any      `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Time       *time.Time `json:"timestamp,omitempty"` // time of the message; some methods ignore it
}

// TurnRequest is a message to reply to, or an exchange that your own agent has had.
type TurnRequest struct {
	Conversation string    `json:"conversation"`
	MessageID    string    `json:"message_id"` // your ID of the message; a message gets one reply
	Channel      string    `json:"channel,omitempty"`
	Text         string    `json:"text,omitempty"`
	Messages     []Message `json:"messages,omitempty"` // messages of the exchange in mode observe
	Mode         string    `json:"mode,omitempty"`     // answer (default) or observe
}

// TurnAnswer is the result of a turn.
type TurnAnswer struct {
	Status string `json:"status"` // ended if there is a reply
	Reply  string `json:"reply"`
	Reason string `json:"reason"`
	Turn   int    `json:"turn"`
	Run    int64  `json:"run"`
}

// Turn sends a message or records an exchange. A message gets one reply: a second call with
// the same MessageID returns the same result. With another text it returns [ErrOpReused].
//
// Turn waits up to 60 seconds for the reply, or as set by [Wait]. Use [Client.Chat] to wait
// without limit.
func (c *Client) Turn(ctx context.Context, r TurnRequest, options ...Option) (out TurnAnswer, err error) {
	body := struct {
		TurnRequest
		Wait *int `json:"wait,omitempty"`
	}{r, c.usual.with(options).seconds()}
	return out, c.call(ctx, http.MethodPost, "/v1/turns", body, &out, "")
}

// Trajectory is one attempt of an agent at a task.
type Trajectory struct {
	Messages []Message      `json:"messages"`
	Score    *float64       `json:"score,omitempty"`
	TaskID   string         `json:"task_id,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// SummaryRequest is a session to remember: messages, a text, or attempts at a task.
type SummaryRequest struct {
	Messages     []Message
	Query        string
	Trajectories []Trajectory
	Metadata     map[string]any // facts about the session, which the result returns
}

// Summary is the result of remembering a session.
type Summary struct {
	RequestID string `json:"request_id"`
	Run       int64  `json:"run"`
	State     string `json:"state"` // accepted, running or ended
	Success   bool   `json:"success"`
	Answer    string `json:"answer"`
	Summary   *struct {
		Status   string         `json:"status"`
		History  string         `json:"ref_memory_id"`
		Digest   string         `json:"summary_id"`
		Metadata map[string]any `json:"metadata"`
		Tasks    []struct {
			Target
			Status  string   `json:"status"`
			Added   []string `json:"added"`
			Updated []string `json:"updated"`
			Deleted []string `json:"deleted"`
		} `json:"tasks"`
	} `json:"summary"`
}

// Summary remembers a session: it extracts long-term memories from it. It returns when
// Cairn has stored the session; with [Wait] it also waits for the result. Use
// [Client.Request] to read the result later.
func (c *Client) Summary(ctx context.Context, r SummaryRequest, options ...Option) (out Summary, err error) {
	body := c.usual.with(options).body(map[string]any{})
	if r.Query != "" {
		body["query"] = r.Query
	}
	if len(r.Messages) > 0 {
		body["messages"] = r.Messages
	}
	if len(r.Trajectories) > 0 {
		body["trajectories"] = r.Trajectories
	}
	if len(r.Metadata) > 0 {
		body["metadata"] = r.Metadata
	}
	return out, c.call(ctx, http.MethodPost, "/v1/summary_memory", body, &out, "")
}

// Request returns the state of a request to Summary, or to Retrieve with an agent.
func (c *Client) Request(ctx context.Context, id string) (out Summary, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/requests/"+url.PathEscape(id), nil, &out, "")
}

// Undone is the result of undoing one change.
type Undone struct {
	ID      string `json:"memory_id"` // empty for a target and for the identity
	Status  string `json:"status"`    // undone, unchanged, or failed if there is a later change
	Message string `json:"message"`
}

// Undo reverts the changes of a Summary request in long-term memory. The session stays.
func (c *Client) Undo(ctx context.Context, id string, options ...Option) ([]Undone, error) {
	var out struct {
		Operations []Undone `json:"operations"`
	}
	err := c.call(ctx, http.MethodPost, "/v1/requests/"+url.PathEscape(id)+"/undo", nil, &out,
		c.usual.with(options).once())
	return out.Operations, err
}

// Memory is a stored memory.
type Memory struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Target    string         `json:"target"`
	Content   string         `json:"content"`
	WhenToUse string         `json:"when_to_use"`
	Metadata  map[string]any `json:"metadata"`
	Version   int            `json:"version"`
	Status    string         `json:"status"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

// Found is a memory or a skill in the result of Retrieve.
type Found struct {
	ID      string  `json:"memory_id"`
	Type    string  `json:"memory_type"`
	Target  string  `json:"memory_target"`
	Content string  `json:"content"`
	Score   float64 `json:"score"`
	History string  `json:"ref_memory_id"` // session that the memory was last extracted from

	// These are set for a skill. Its Type is SkillMemory, and its Content is its description.
	Name    string `json:"name"`
	Version int    `json:"version"`
	View    string `json:"view"` // API path of the complete skill
}

// Answer is the result of Retrieve.
type Answer struct {
	Answer   string  `json:"answer"` // answer of an agent, or the text of enable_llm_rewrite
	Success  bool    `json:"success"`
	Mode     string  `json:"mode"`
	Status   string  `json:"status"`
	Memories []Found `json:"memories"`
	Note     string  `json:"note"`
	Request  string  `json:"request_id"`

	Metadata map[string]any `json:"metadata"` // metadata of the question
}

// Retrieve queries long-term memory. If query is empty, the question is the last user message
// of [Messages], or else of [Trajectories]. [Mode] selects a search (fast), an agent (agentic), or an agent
// only if the search finds little (auto, the default).
func (c *Client) Retrieve(ctx context.Context, query string, options ...Option) (out Answer, err error) {
	s := c.usual.with(options)
	body := s.body(map[string]any{})
	if query != "" {
		body["query"] = query
	}
	if len(s.messages) > 0 {
		body["messages"] = s.messages
	}
	if len(s.trajectories) > 0 {
		body["trajectories"] = s.trajectories
	}
	if len(s.facts) > 0 {
		body["metadata"] = s.facts
	}
	if s.mode != "" {
		body["mode"] = s.mode
	}
	if s.topK > 0 {
		body["top_k"] = s.topK
	}
	if s.days != "" {
		body["time_filter"] = s.days
	}
	if s.least != nil {
		body["enable_score_filter"], body["min_score"] = true, *s.least
	}
	if s.within > 0 {
		body["deadline_ms"] = s.within.Milliseconds()
	}
	return out, c.call(ctx, http.MethodPost, "/v1/retrieve_memory", body, &out, "")
}

// Result is the result of a search.
type Result struct {
	Kind   string  `json:"kind"`
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Score  float64 `json:"score"`
	Type   string  `json:"type"`
	Target string  `json:"target"`
}

// Search searches turns, memories and skills and returns up to [TopK] results (default 10, at
// most 50), the best first. With [Types] it searches only memories.
func (c *Client) Search(ctx context.Context, query string, options ...Option) ([]Result, error) {
	s := c.usual.with(options)
	q := url.Values{"q": {query}, "kinds": {"turn,memory,skill"}, "limit": {strconv.Itoa(min(cmp.Or(s.topK, 10), 50))}}
	if len(s.types) > 0 {
		q["kinds"], q["types"] = []string{"memory"}, []string{strings.Join(s.types, ",")}
	}
	var out struct {
		Found []Result `json:"found"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/search?"+q.Encode(), nil, &out, "")
	return out.Found, err
}

// DistillResult is the state of a distillation. Report is nil until the run has ended.
type DistillResult struct {
	Run    int64  `json:"run"`
	Status string `json:"status"`
	Report *struct {
		Outcome string `json:"outcome"`
		Tasks   []struct {
			Outcome string `json:"outcome"`
			Skill   string `json:"skill"`
			Version int    `json:"version"`
		} `json:"tasks"`
	} `json:"report"`
}

// Distill distills a conversation into skills. It returns when Cairn has stored the
// conversation; with [Wait] it also waits for the report, at most 60 seconds.
func (c *Client) Distill(ctx context.Context, messages []Message, options ...Option) (out DistillResult, err error) {
	s := c.usual.with(options)
	body := map[string]any{"messages": messages}
	if s.id != "" {
		body["request_id"] = s.id
	}
	path := "/v1/distill"
	if n := s.seconds(); n != nil {
		path += "?wait=" + strconv.Itoa(min(*n, 60))
	}
	return out, c.call(ctx, http.MethodPost, path, body, &out, "")
}

// NewMemory is a long-term memory to add.
type NewMemory struct {
	Content   string         `json:"content"`
	Type      string         `json:"memory_type"`
	Target    string         `json:"memory_target"`
	WhenToUse string         `json:"when_to_use,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// WriteResult is the result of a change.
type WriteResult struct {
	Action string   `json:"action"`
	IDs    []string `json:"ids"`
}

// once returns the idempotency key of a change.
func (s settings) once() string {
	if s.id != "" {
		return s.id
	}
	return rand.Text()
}

// Add adds a memory. If a memory with the same content exists, Add returns its ID.
func (c *Client) Add(ctx context.Context, m NewMemory, options ...Option) (out WriteResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/memories", m, &out, c.usual.with(options).once())
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

// Update replaces the content of a memory, which gets a new version and keeps its ID.
func (c *Client) Update(ctx context.Context, id, content string, options ...Option) (out WriteResult, err error) {
	return out, c.call(ctx, http.MethodPut, "/v1/memories/"+url.PathEscape(id), map[string]string{"content": content},
		&out, c.usual.with(options).once())
}

// Delete deletes a memory. Its history stays.
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
		if about := func(t Target) bool {
			return t.Target == m.Target &&
				(t.Type == "" || t.Type == m.Type)
		}; len(s.targets) > 0 && !slices.ContainsFunc(s.targets, about) {
			continue // same name, other type
		}
		if _, err := c.Delete(ctx, m.ID); err != nil {
			return ids, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}
