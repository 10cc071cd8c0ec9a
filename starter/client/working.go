package client

import (
	"context"
	"net/http"
)

// OffloadRequest is the request to shorten a thread. The last user turn always stays
// unchanged. Mode compact offloads large tool results. Mode compress lets a model summarize
// older messages. Mode auto compacts, and compresses if that is not enough.
type OffloadRequest struct {
	Messages    []Message `json:"messages"`                          // the whole thread
	Mode        string    `json:"mode,omitempty"`                    // compact, compress or auto (default)
	Session     string    `json:"session,omitempty"`                 // groups offloaded content for Grep
	TotalTokens int       `json:"max_total_tokens,omitempty"`        // limit of older messages; 0 means 20,000
	ToolTokens  int       `json:"max_tool_message_tokens,omitempty"` // larger tool results go; 0 means 2,000
	KeepRecent  *int      `json:"keep_recent,omitempty"`             // unchanged messages at the end; nil means 10
	GroupTokens int       `json:"group_tokens,omitempty"`            // tokens for one summary; 0 means 12,000
	TTLSeconds  int       `json:"ttl_seconds,omitempty"`             // how long content is stored; 0 means one week
}

// OffloadResult is the shortened thread. If Degraded is true, Messages holds the original
// messages, and Reason has the cause.
type OffloadResult struct {
	Messages     []Message `json:"messages"`
	Mode         string    `json:"mode"`
	TokensBefore int       `json:"tokens_before"` // estimate
	TokensAfter  int       `json:"tokens_after"`
	Offloaded    []struct {
		Handle string `json:"handle"`
		Kind   string `json:"kind"` // text or messages
		Label  string `json:"label"`
		Chars  int    `json:"chars"`
	} `json:"offloaded"`
	Degraded bool   `json:"degraded"`
	Reason   string `json:"reason"`
	Run      string `json:"run"`
}

// Offload shortens a thread and stores the removed content under handles. Use
// [Client.Reload], [Client.Grep] and [Client.Read] to get the content back. The same request
// returns the same result and is paid once.
//
// [Wait] bounds the wait for a model; the default is 60 seconds. After that, the result is
// degraded; repeat the request to get the shortened thread.
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

// Reload returns all content of a handle. It returns [ErrNotFound] if the handle does not
// exist or has expired.
func (c *Client) Reload(ctx context.Context, handle string) (out ReloadResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/working/reload", map[string]any{"handle": handle}, &out, "")
}

// Grep is a search in the offloaded content of a handle or of a session. Set Handle or
// Session.
type Grep struct {
	Pattern string `json:"pattern"`           // text within a line
	Handle  string `json:"handle,omitempty"`  // content to search
	Session string `json:"session,omitempty"` // searches all content of the session
	Regex   bool   `json:"regex,omitempty"`   // RE2 syntax; otherwise the pattern is literal and ignores case
	Before  *int   `json:"before,omitempty"`  // lines of context before a hit; nil means 5
	After   *int   `json:"after,omitempty"`   // lines of context after a hit; nil means 5
	Offset  int    `json:"offset,omitempty"`  // number of hits to skip
	Limit   *int   `json:"limit,omitempty"`   // maximum number of hits; nil means 10
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
	Total      int  `json:"total"`       // number of hits on all pages
	NextOffset *int `json:"next_offset"` // Offset of the next page
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
