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
	Role       string     `json:"role"` // user, assistant, tool or system
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`         // name of the tool, or of the speaker
	ToolCalls  []any      `json:"tool_calls,omitempty"`   // tool calls of an assistant message, in OpenAI's format
	ToolCallID string     `json:"tool_call_id,omitempty"` // in a tool message, the ID of the tool call
	Time       *time.Time `json:"timestamp,omitempty"`    // time of the message; some methods ignore it
}

// TurnRequest is a message to reply to, or an exchange that your own agent has had.
type TurnRequest struct {
	Conversation string    `json:"conversation"`       // your ID of the conversation; the first message creates it
	MessageID    string    `json:"message_id"`         // your ID of the message; a message gets one reply
	Channel      string    `json:"channel,omitempty"`  // sets the budget: voice, sms, chat (default) or scheduled
	Text         string    `json:"text,omitempty"`     // message of the user in mode answer
	Messages     []Message `json:"messages,omitempty"` // messages of the exchange in mode observe
	Mode         string    `json:"mode,omitempty"`     // answer (default) or observe
}

// TurnAnswer is the result of a turn.
type TurnAnswer struct {
	Status string `json:"status"` // ended if there is a reply
	Reply  string `json:"reply"`  // empty in mode observe
	Reason string `json:"reason"` // why the turn ended; empty until then
	Turn   int    `json:"turn"`   // number of the turn in the conversation, from 1
	Run    string `json:"run"`    // ID of the run
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
	Score    *float64       `json:"score,omitempty"`    // attempts with scores are compared; nil means no score
	TaskID   string         `json:"task_id,omitempty"`  // your ID of the task
	Metadata map[string]any `json:"metadata,omitempty"` // facts that the messages do not contain
}

// SummaryRequest is a session to remember: messages, a text, or attempts at a task.
type SummaryRequest struct {
	Messages     []Message
	Query        string         // a text instead of messages
	Trajectories []Trajectory   // attempts at a task, which are compared
	Metadata     map[string]any // facts about the session, up to 8 KiB of JSON, which the result returns
}

// Summary is the result of remembering a session. Its member Summary is nil until Cairn has
// a report.
type Summary struct {
	RequestID string `json:"request_id"` // ID for Request and Undo
	Run       string `json:"run"`        // ID of the run
	State     string `json:"state"`      // accepted, running or ended
	Success   bool   `json:"success"`    // the run has ended without failures
	Answer    string `json:"answer"`     // final message of the agent
	Summary   *struct {
		Status   string         `json:"status"`        // of an ended run: ok, no_memory, partial or failed
		History  string         `json:"ref_memory_id"` // ID of the stored session
		Digest   string         `json:"summary_id"`    // ID of the memory that is the session's digest
		Metadata map[string]any `json:"metadata"`      // metadata of the request
		Tasks    []struct {     // one for each target
			Target
			Status  string   `json:"status"`
			Added   []string `json:"added"` // IDs of memories
			Updated []string `json:"updated"`
			Deleted []string `json:"deleted"`
		} `json:"tasks"`
	} `json:"summary"`
}

// Summary remembers a session: it extracts long-term memories from it. It returns when
// Cairn has stored the session; with [Wait] it also waits for the result. Use
// [Client.Request] to read the result later.
//
// [Targets] registers targets before the agents start, and [Types] restricts the memories
// to types. Calls with the same [RequestID] are one run.
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

// Request returns the state of a request to Summary, or to Retrieve with an agent. ID is the
// RequestID of the result. It returns [ErrNotFound] if the request does not exist.
func (c *Client) Request(ctx context.Context, id string) (out Summary, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/requests/"+url.PathEscape(id), nil, &out, "")
}

// Undone is the result of undoing one change.
type Undone struct {
	ID      string `json:"memory_id"` // empty for a target and for the identity
	Status  string `json:"status"`    // undone, unchanged, or failed if there is a later change
	Message string `json:"message"`
}

// Undo reverts the changes of a Summary request in long-term memory, and returns a result
// for each change. The session stays. A change that a later change depends on stays, too;
// its status is failed.
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

// Found is a memory or a skill in the result of Retrieve.
type Found struct {
	ID      string  `json:"memory_id"`
	Type    string  `json:"memory_type"`
	Target  string  `json:"memory_target"`
	Content string  `json:"content"`
	Score   float64 `json:"score"`         // higher is better; comparable within one result
	History string  `json:"ref_memory_id"` // session that the memory was last extracted from

	// These are set for a skill. Its Type is SkillMemory, and its Content is its description.
	Name    string `json:"name"`
	Version int    `json:"version"`
	View    string `json:"view"` // API path of the complete skill
}

// Answer is the result of Retrieve.
type Answer struct {
	Answer   string  `json:"answer"`     // answer of an agent, or the text of enable_llm_rewrite; else empty
	Success  bool    `json:"success"`    // relevant memories were found, or none were needed
	Mode     string  `json:"mode"`       // mode that produced the answer: fast or agentic
	Status   string  `json:"status"`     // ok, no_retrieval_needed, no_relevant_memory, partial, failed or accepted
	Memories []Found `json:"memories"`   // the best first
	Note     string  `json:"note"`       // why another mode answered, or what was not refined
	Request  string  `json:"request_id"` // ID for Client.Request if an agent was asked

	Metadata map[string]any `json:"metadata"` // metadata of the question
}

// Retrieve queries long-term memory. If query is empty, the question is the last user message
// of [Messages], or else of [Trajectories]. [Mode] selects a search (fast), an agent (agentic),
// or an agent only if the search finds little (auto, the default).
//
// [TopK] bounds the memories: the default is 20, the maximum is 100. [Wait] bounds the wait for
// an agent: the default is 60 seconds. If the agent takes longer, a search answers, and
// [Client.Request] has the agent's answer later. With Wait(0) and mode agentic, the status is
// accepted.
//
// Options of a fast search: [Targets], [Types], [Days], [MinScore] and [Deadline].
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
	Kind   string  `json:"kind"` // turn, memory or skill
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Score  float64 `json:"score"`  // higher is better; comparable within one result
	Type   string  `json:"type"`   // type of a memory
	Target string  `json:"target"` // target of a memory
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
	Run    string `json:"run"`    // ID of the run
	Status string `json:"status"` // accepted, running or ended
	Report *struct {
		Outcome string `json:"outcome"` // such as completed, nothing_to_extract or gated
		Tasks   []struct {
			Outcome string `json:"outcome"` // created, updated, unchanged, staged (pending), skipped or failed
			Skill   string `json:"skill"`   // name of the skill
			Version int    `json:"version"` // version of the skill
		} `json:"tasks"`
	} `json:"report"`
}

// Distill distills a conversation into skills. It returns when Cairn has stored the
// conversation; with [Wait] it also waits for the report, at most 60 seconds. Calls with the
// same [RequestID] are one run.
//
// A gate checks the conversation before a model is called. By default, it requires 5 tool
// messages, or 6 messages from both sides. Otherwise the outcome of the report is gated, and
// the report has no tasks.
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

// AddResult is the result of one memory of [Client.AddAll].
type AddResult struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // added, duplicate, updated or failed
	Code    string `json:"code"`   // of a failure; see the error codes of the HTTP API
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// AddAll adds up to 500 memories in one transaction and returns the result of each. An invalid
// memory fails alone. Calls with the same [RequestID] take effect once.
func (c *Client) AddAll(ctx context.Context, memories []NewMemory, options ...Option) ([]AddResult, error) {
	var out struct {
		Results []AddResult `json:"results"`
	}
	body := map[string]any{"infer": false, "memories": memories}
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
