package client

import (
	"context"
	"net/http"
	"net/url"
)

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
		Add      string         `json:"add"`           // how the session was added: fast or agents
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
	s := c.usual.with(options)
	body := s.body(map[string]any{})
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
	if s.add != "" {
		body["add"] = s.add
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
