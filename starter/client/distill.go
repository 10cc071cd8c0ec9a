package client

import (
	"context"
	"net/http"
	"strconv"
)

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
