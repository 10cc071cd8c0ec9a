package client

import (
	"context"
	"net/http"
)

// OffloadRequest is the request to shorten a thread. Zero values have the defaults that
// docs/reference/http.md describes. The last user turn always stays unchanged.
type OffloadRequest struct {
	Messages    []Message `json:"messages"`
	Mode        string    `json:"mode,omitempty"`    // compact, compress or auto
	Session     string    `json:"session,omitempty"` // groups offloaded content for Grep
	TotalTokens int       `json:"max_total_tokens,omitempty"`
	ToolTokens  int       `json:"max_tool_message_tokens,omitempty"`
	KeepRecent  *int      `json:"keep_recent,omitempty"` // unchanged messages at the end; nil means 10
	GroupTokens int       `json:"group_tokens,omitempty"`
	TTLSeconds  int       `json:"ttl_seconds,omitempty"`
}

// OffloadResult is the shortened thread. If Degraded is true, Messages holds the original
// messages, and Reason has the cause.
type OffloadResult struct {
	Messages     []Message `json:"messages"`
	Mode         string    `json:"mode"`
	TokensBefore int       `json:"tokens_before"`
	TokensAfter  int       `json:"tokens_after"`
	Offloaded    []struct {
		Handle string `json:"handle"`
		Kind   string `json:"kind"` // text or messages
		Label  string `json:"label"`
		Chars  int    `json:"chars"`
	} `json:"offloaded"`
	Degraded bool   `json:"degraded"`
	Reason   string `json:"reason"`
	Run      int64  `json:"run"`
}

// Offload shortens a thread and stores the removed content under handles. Use
// [Client.Reload], [Client.Grep] and [Client.Read] to get the content back. The same request
// returns the same result and is paid once.
func (c *Client) Offload(ctx context.Context, r OffloadRequest, options ...Option) (out OffloadResult, err error) {
	body := struct {
		OffloadRequest
		Wait *int `json:"wait,omitempty"`
	}{r, c.usual.with(options).seconds()}
	return out, c.call(ctx, http.MethodPost, "/v1/working/offload", body, &out, "")
}

// ReloadResult is offloaded content: a text or messages.
type ReloadResult struct {
	Kind     string    `json:"kind"`
	Content  string    `json:"content"`
	Messages []Message `json:"messages"`
}

// Reload returns all content of a handle.
func (c *Client) Reload(ctx context.Context, handle string) (out ReloadResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/reload", map[string]any{"handle": handle}, &out, "")
}

// Grep is a search in the offloaded content of a handle or of a session.
type Grep struct {
	Pattern string `json:"pattern"`
	Handle  string `json:"handle,omitempty"`
	Session string `json:"session,omitempty"`
	Regex   bool   `json:"regex,omitempty"` // RE2 syntax; otherwise the pattern is literal and ignores case
	Before  *int   `json:"before,omitempty"`
	After   *int   `json:"after,omitempty"`
	Offset  int    `json:"offset,omitempty"`
	Limit   *int   `json:"limit,omitempty"`
}

// Hits holds the hits of a search. NextOffset is nil on the last page.
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

// Grep searches offloaded content line by line.
func (c *Client) Grep(ctx context.Context, g Grep) (out Hits, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/grep", g, &out, "")
}

// Lines is a page of offloaded content. NextOffset is nil on the last page.
type Lines struct {
	Lines      []string `json:"lines"`
	From       int      `json:"from"` // line number of the first line, from 1
	Total      int      `json:"total"`
	NextOffset *int     `json:"next_offset"`
}

// Read returns lines of the content of a handle. It skips offset lines and returns at most
// limit lines.
func (c *Client) Read(ctx context.Context, handle string, offset, limit int) (out Lines, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/read",
		map[string]any{"handle": handle, "offset": offset, "limit": limit}, &out, "")
}
