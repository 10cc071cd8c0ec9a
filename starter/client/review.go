package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// Overview is what waits for a person, what is wrong, and what the day cost.
type Overview struct {
	Waiting  int      `json:"waiting"`  // items of the inbox
	Blocking int      `json:"blocking"` // those of them with blocking findings
	Health   []Reason `json:"health"`   // problems first; empty if nothing is wrong
	Budget   struct {
		Tokens      int64  `json:"tokens"`                      // used in this UTC day
		TokensLimit int64  `json:"tokens_limit"`                // 0 means no limit
		Micros      int64  `json:"cost_micros"`                 // micro-dollars, of calls with a known price
		MicrosLimit *int64 `json:"cost_micros_limit,omitempty"` // nil means no limit
	} `json:"budget"`
}

// Reason is something that is wrong.
type Reason struct {
	Code   string     `json:"code"`  // stable, such as no_worker
	Level  string     `json:"level"` // problem or note
	Name   string     `json:"name"`  // of the model, the queue, the run or the day
	Detail string     `json:"detail"`
	Count  int64      `json:"count"`
	Since  *time.Time `json:"since"` // nil if it is not known
	Effect string     `json:"effect"`
	Remedy string     `json:"remedy"`
	Link   string     `json:"link"` // page of the web console
}

// Overview returns what needs a person.
func (c *Client) Overview(ctx context.Context) (out Overview, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/overview", nil, &out, "")
	return out, err
}

// InboxItem is one thing that waits for a person. Diff and Editable are set by [Client.InboxItem] and
// [Client.PreviewItem].
type InboxItem struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // candidate, draft, change, removal or memory
	Title    string    `json:"title"`
	Summary  string    `json:"summary"`
	Reason   string    `json:"reason"`
	Severity string    `json:"severity"` // of the worst finding: block, review, note or empty
	Findings []Finding `json:"findings"`
	State    string    `json:"state"` // pending or expired
	SHA      string    `json:"sha"`   // of the item as it is; an approval names it

	Diff     string    `json:"diff"`
	Theirs   string    `json:"diff_theirs"`   // what the version in force changed in the base version of a change
	Proposed string    `json:"diff_proposed"` // what the change makes of the base version
	Conflict string    `json:"conflict"`
	Editable *ItemText `json:"editable"` // nil if the item has no text
}

// Finding is a reason why an item needs a person.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Place    string `json:"place"`
	Line     string `json:"line"`
}

// ItemText is the text of an item: description and content of a skill, or the facts of a memory write.
type ItemText struct {
	Description string   `json:"description,omitempty"`
	Content     string   `json:"content,omitempty"`
	Facts       []string `json:"facts,omitempty"`
}

// ItemOverride accepts all blocking findings of an item, with a reason of 10 to 500 characters.
type ItemOverride struct {
	Findings []string `json:"findings,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// ItemResult is the result of a decision about one item.
type ItemResult struct {
	ID      string `json:"id"`
	State   string `json:"state"` // approved, rejected or failed
	Title   string `json:"title"`
	Version int    `json:"version"`
	Problem *Error `json:"problem"` // why it failed
}

// Inbox lists what waits for a person, the worst findings first.
func (c *Client) Inbox(ctx context.Context) ([]InboxItem, error) {
	var out struct {
		Items []InboxItem `json:"items"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/inbox", nil, &out, "")
	return out.Items, err
}

// InboxItem returns an item with its diff.
func (c *Client) InboxItem(ctx context.Context, id string) (out InboxItem, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/inbox/"+url.PathEscape(id), nil, &out, "")
	return out, err
}

// PreviewItem returns an item as it would be with another text, with the findings about that text. Nothing changes.
func (c *Client) PreviewItem(ctx context.Context, id string, text ItemText) (out InboxItem, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/inbox/"+url.PathEscape(id)+"/preview", text, &out, "")
	return out, err
}

// ApproveItem approves an item as it was read. It returns an error with the code version_conflict if the item has
// changed since, and override_required if a blocking finding is not overridden.
func (c *Client) ApproveItem(ctx context.Context, item InboxItem, o ItemOverride) (out ItemResult, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/inbox/"+url.PathEscape(item.ID)+"/approve",
		map[string]any{"sha": item.SHA, "override": o}, &out, rand.Text())
	return out, err
}

// EditItem approves an item with another text, which is scanned again.
func (c *Client) EditItem(ctx context.Context, item InboxItem, text ItemText, o ItemOverride) (out ItemResult,
	err error) {
	err = c.call(ctx, http.MethodPost, "/v1/inbox/"+url.PathEscape(item.ID)+"/edit",
		map[string]any{"sha": item.SHA, "text": text, "override": o}, &out, rand.Text())
	return out, err
}

// ApproveItems approves up to 50 items without findings. The results are in the order of the items.
func (c *Client) ApproveItems(ctx context.Context, items ...InboxItem) ([]ItemResult, error) {
	return c.decide(ctx, "approve", items)
}

// RejectItems rejects up to 50 items. The results are in the order of the items.
func (c *Client) RejectItems(ctx context.Context, items ...InboxItem) ([]ItemResult, error) {
	return c.decide(ctx, "reject", items)
}

func (c *Client) decide(ctx context.Context, how string, items []InboxItem) ([]ItemResult, error) {
	chosen := make([]map[string]string, len(items))
	for i, item := range items {
		chosen[i] = map[string]string{"id": item.ID, "sha": item.SHA}
	}
	var out struct {
		Results []ItemResult `json:"results"`
	}
	err := c.call(ctx, http.MethodPost, "/v1/inbox/"+how, map[string]any{"items": chosen}, &out, rand.Text())
	return out.Results, err
}
