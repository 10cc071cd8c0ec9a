package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// BrowsedMemory is a memory of any type, as a list shows it.
type BrowsedMemory struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"` // core, profile, personal, procedural, tool, summary or note
	Target    string    `json:"target"`
	Content   string    `json:"content"` // shortened
	Status    string    `json:"status"`
	Origin    string    `json:"origin"`
	Version   int       `json:"version"`
	Changed   bool      `json:"changed"` // differs now from what was known at MemoryFilter.AsOf
	Now       string    `json:"now"`     // content of now, if it differs
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// MemoryFilter selects memories. Zero values select all.
type MemoryFilter struct {
	Type, Status, Origin, Target string
	AsOf                         time.Time // memories that were active at this time, as they were
}

// Memories lists memories of all types, the latest first, or what was known at a time. [Client.List] returns whole
// long-term memories. The iterator requests more of them as it needs them, and ends after an error.
func (c *Client) Memories(ctx context.Context, f MemoryFilter) iter.Seq2[BrowsedMemory, error] {
	return list[BrowsedMemory](ctx, c, "/v1/memories/browse", "memories", query("type", f.Type, "status", f.Status,
		"origin", f.Origin, "target", f.Target, "as_of", instant(f.AsOf)))
}

// Evidence is a part of a conversation from which something was written.
type Evidence struct {
	Conversation string          `json:"conversation"`
	From         int             `json:"from_seq"` // position of the first message
	To           int             `json:"to_seq"`   // position of the last message
	Messages     []SourceMessage `json:"messages"` // the first of them
}

// SourceMessage is a message of an [Evidence].
type SourceMessage struct {
	Seq  int    `json:"seq"`
	Role string `json:"role"`
	Text string `json:"text"` // shortened
}

// MemoryEvidence returns the messages from which a memory was written.
func (c *Client) MemoryEvidence(ctx context.Context, id string) ([]Evidence, error) {
	return c.evidence(ctx, "/v1/memories/"+url.PathEscape(id)+"/evidence")
}

// SkillEvidence returns the messages from which a version of a skill was written. Version 0 is the active one.
func (c *Client) SkillEvidence(ctx context.Context, skill string, version int) ([]Evidence, error) {
	return c.evidence(ctx, fmt.Sprintf("/v1/skills/%s/evidence?version=%d", url.PathEscape(skill), version))
}

func (c *Client) evidence(ctx context.Context, path string) ([]Evidence, error) {
	var out struct {
		Evidence []Evidence `json:"evidence"`
	}
	err := c.call(ctx, http.MethodGet, path, nil, &out, "")
	return out.Evidence, err
}

// MemoryView is a run that was shown a memory.
type MemoryView struct {
	Run          string    `json:"run"`
	Kind         string    `json:"kind"` // of the run
	Conversation string    `json:"conversation"`
	Turn         int       `json:"turn"`
	At           time.Time `json:"at"`
}

// MemoryViews lists the runs that were shown a memory, the latest first. See [Client.Memories] for the iterator.
func (c *Client) MemoryViews(ctx context.Context, id string) iter.Seq2[MemoryView, error] {
	return list[MemoryView](ctx, c, "/v1/memories/"+url.PathEscape(id)+"/views", "views", nil)
}

// Restore makes a version of a memory its content again, even if it is deleted. Version 0 is the last one
// with content. Calls with the same [RequestID] take effect once.
func (c *Client) Restore(ctx context.Context, id string, version int, options ...Option) (out WriteResult, err error) {
	path := fmt.Sprintf("/v1/memories/%s/restore?version=%d", url.PathEscape(id), version)
	return out, c.call(ctx, http.MethodPost, path, nil, &out, c.usual.with(options).once())
}

// SkillUse is a use of a skill.
type SkillUse struct {
	ID           string     `json:"use_id"`
	Version      int        `json:"version"`
	Canary       bool       `json:"canary"` // of a version on trial
	Kind         string     `json:"kind"`   // of the run
	Run          string     `json:"run"`
	Conversation string     `json:"conversation"`
	Outcome      string     `json:"outcome"` // pass, fail or empty
	At           time.Time  `json:"at"`
	DecidedAt    *time.Time `json:"decided_at"`
}

// SkillUses lists the uses of a skill, the latest first. See [Client.Memories] for the iterator.
func (c *Client) SkillUses(ctx context.Context, skill string) iter.Seq2[SkillUse, error] {
	return list[SkillUse](ctx, c, "/v1/skills/"+url.PathEscape(skill)+"/uses", "uses", nil)
}
