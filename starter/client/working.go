package client

import (
	"context"
	"net/http"
)

// OffloadRequest asks for a thread to be made shorter; what is left out is as the
// API's description says.
type OffloadRequest struct {
	Messages    []Message `json:"messages"`
	Mode        string    `json:"mode,omitempty"`    // compact, compress or auto
	Session     string    `json:"session,omitempty"` // under which all that is put away is searched together
	TotalTokens int       `json:"max_total_tokens,omitempty"`
	ToolTokens  int       `json:"max_tool_message_tokens,omitempty"`
	KeepRecent  *int      `json:"keep_recent,omitempty"` // messages at the end; the last user's turn always stays
	GroupTokens int       `json:"group_tokens,omitempty"`
	TTLSeconds  int       `json:"ttl_seconds,omitempty"`
}

// OffloadResult is a thread after it was made shorter. Degraded means that it is as it
// was, because of Reason.
type OffloadResult struct {
	Messages     []Message `json:"messages"`
	Mode         string    `json:"mode"`
	TokensBefore int       `json:"tokens_before"`
	TokensAfter  int       `json:"tokens_after"`
	PutAway      []struct {
		Handle string `json:"handle"`
		Kind   string `json:"kind"` // text or messages
		Label  string `json:"label"`
		Chars  int    `json:"chars"`
	} `json:"offloaded"`
	Degraded bool   `json:"degraded"`
	Reason   string `json:"reason"`
	Run      int64  `json:"run"`
}

// Offload makes a thread shorter without losing a word of it. The same thread
// gives the same answer, and a model is paid once.
func (c *Client) Offload(ctx context.Context, r OffloadRequest, options ...Option) (out OffloadResult, err error) {
	body := struct {
		OffloadRequest
		Wait *int `json:"wait,omitempty"`
	}{r, c.usual.with(options).seconds()}
	return out, c.call(ctx, http.MethodPost, "/v1/working/offload", body, &out, "")
}

// ReloadResult is what was put away: a text, or messages.
type ReloadResult struct {
	Kind     string    `json:"kind"`
	Content  string    `json:"content"`
	Messages []Message `json:"messages"`
}

// Reload has back all that stands behind a handle.
func (c *Client) Reload(ctx context.Context, handle string) (out ReloadResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/reload", map[string]any{"handle": handle}, &out, "")
}

// Grep looks for something in what was put away: behind a handle, or in all of a
// session.
type Grep struct {
	Pattern string `json:"pattern"`
	Handle  string `json:"handle,omitempty"`
	Session string `json:"session,omitempty"`
	Regex   bool   `json:"regex,omitempty"` // RE2; else literal, whatever the case
	Before  *int   `json:"before,omitempty"`
	After   *int   `json:"after,omitempty"`
	Offset  int    `json:"offset,omitempty"`
	Limit   *int   `json:"limit,omitempty"`
}

// Hits is what was found. NextOffset is nil when nothing is left.
type Hits struct {
	Hits []struct {
		Handle string   `json:"handle"`
		Line   int      `json:"line"` // from 1
		Text   string   `json:"text"`
		Before []string `json:"before"`
		After  []string `json:"after"`
	} `json:"hits"`
	Total      int  `json:"total"`
	NextOffset *int `json:"next_offset"`
}

// Grep looks for something in what was put away.
func (c *Client) Grep(ctx context.Context, g Grep) (out Hits, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/grep", g, &out, "")
}

// Lines are some lines of what was put away. NextOffset is nil when nothing is left.
type Lines struct {
	Lines      []string `json:"lines"`
	From       int      `json:"from"` // number of the first, from 1
	Total      int      `json:"total"`
	NextOffset *int     `json:"next_offset"`
}

// Read returns lines of what stands behind a handle: offset are passed over, at
// most limit returned.
func (c *Client) Read(ctx context.Context, handle string, offset, limit int) (out Lines, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/read",
		map[string]any{"handle": handle, "offset": offset, "limit": limit}, &out, "")
}
