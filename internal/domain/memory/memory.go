// Package memory defines memories and the rules for their changes. It does not access a database:
// MakePlan takes the active entries and the requested operations, and returns a Plan with the rows
// to write.
//
// Two types are prompt memories, which every prompt contains: Core holds facts, and Profile
// describes the user. A Soul holds the user's reply preferences. It is one text, not a list of
// entries.
package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Type is the type of a memory.
type Type string

const (
	Core    Type = "core"    // facts, in every prompt
	Profile Type = "profile" // description of the user, in every prompt
	Note    Type = "note"    // events of a day, found only by search

	Identity   Type = "identity"   // the agent's self-description: one document without entries
	Personal   Type = "personal"   // facts about a named person or group
	Procedural Type = "procedural" // how to do things in a domain
	Guideline  Type = "tool"       // how to use a tool; the tool's name is in WhenToUse
	Summary    Type = "summary"    // digest of one session, linked to the session
)

// PromptTypes are the types in every prompt, in this order.
var PromptTypes = []Type{Profile, Core}

// Status is the status of an entry.
type Status string

const (
	Active      Status = "active"
	Superseded  Status = "superseded" // another entry has the same content
	Removed     Status = "removed"
	Quarantined Status = "quarantined" // stored for inspection, never shown to a model
)

// Limits that no setting can raise.
const (
	EntryRunes      = 1000 // of one entry
	MatchRunes      = 1000 // of a match
	BatchOperations = 20
	SoulRunes       = 4000
	RunEntries      = 3 // entries that one autonomous run may add to the prompt memories
	WarnPercent     = 90
)

// Evidence is a range of messages, both ends included. The zero value is no evidence.
type Evidence struct {
	Conversation int64 `json:"conversation_id,omitempty"`
	FromSeq      int   `json:"from_seq"`
	ToSeq        int   `json:"to_seq"`
}

// Entry is one memory. Its ID is assigned when it is created and never changes.
type Entry struct {
	Key       int64      `json:"-"` // of its row, 0 before it is stored
	ID        string     `json:"id"`
	Type      Type       `json:"type"`
	Target    string     `json:"target,omitempty"`
	Content   string     `json:"content"`
	Version   int        `json:"version"`
	Status    Status     `json:"status"`
	Origin    string     `json:"origin"`
	Tainted   bool       `json:"tainted,omitempty"`
	Run       string     `json:"run,omitempty"`
	Evidence  *Evidence  `json:"evidence,omitempty"`
	EventTime *time.Time `json:"event_time,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`

	// Fields of long-term memories.
	WhenToUse    string   `json:"when_to_use,omitempty"` // embedded instead of the content, if set
	Metadata     Metadata `json:"metadata,omitempty"`
	Histories    []string `json:"ref_memory_ids,omitempty"` // sessions that it was drawn from, the latest last
	Author       string   `json:"author,omitempty"`         // model@prompt-hash
	Importance   float64  `json:"importance,omitempty"`
	Targets      []string `json:"targets,omitempty"` // of a summary: type/key of each target of the session
	SupersededBy string   `json:"superseded_by,omitempty"`
	Retrieved    int      `json:"retrieve_count,omitempty"` // number of runs that a search has shown it to

	// Fields of prompt memories.
	Moved       bool       `json:"moved,omitempty"` // to long-term memory: no prompt contains it, search finds it
	Approved    bool       `json:"-"`               // a person wrote or approved the content
	ConfirmedAt *time.Time `json:"-"`               // when the content was last said again; nil: not since UpdatedAt

	Earlier []Earlier `json:"earlier,omitempty"` // what it said before changes that ended it, the earliest first
}

// Earlier is a former content of an entry.
type Earlier struct {
	Content    string    `json:"content"`
	ValidUntil time.Time `json:"valid_until"`
}

// Revision is the content of an entry at a version, and the origin of that version.
type Revision struct {
	Version   int       `json:"version"`
	Action    Action    `json:"action"`
	Content   string    `json:"content"`
	Origin    string    `json:"origin"`
	Tainted   bool      `json:"tainted,omitempty"`
	Run       string    `json:"run,omitempty"`
	Evidence  *Evidence `json:"evidence,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	Status    Status   `json:"status,omitempty"` // after the revision
	WhenToUse string   `json:"when_to_use,omitempty"`
	Metadata  Metadata `json:"metadata,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	Author    string   `json:"author,omitempty"`

	Moved bool `json:"moved,omitempty"` // after the revision

	// ValidUntil is until when the content of the previous version was valid, if the revision ended it.
	ValidUntil *time.Time `json:"valid_until,omitempty"`
}

// NewID returns the ID of a new entry: a hash of its fields. A salt above 0 returns another ID, in
// case the first one is taken.
func NewID(ws int64, t Type, target, content string, salt int) string {
	const separator = "\x1f" // does not occur in content
	sum := sha256.Sum256([]byte(strings.Join([]string{fmt.Sprint(ws), string(t), target, content, fmt.Sprint(salt)},
		separator)))
	return hex.EncodeToString(sum[:8])
}

// Normalize returns content in the form that is stored and compared, or an error if it is empty or
// too long.
func Normalize(content string) (string, error) {
	content = clean(content)
	switch n := utf8.RuneCountInString(content); {
	case n == 0:
		return "", fault.New(fault.InvalidArgument, "content is empty",
			"state in one sentence what to remember")
	case n > EntryRunes:
		return "", fault.New(fault.TooLarge, fmt.Sprintf("content has %d characters, an entry has at most %d", n,
			EntryRunes), "shorten it, or split it into several entries; save procedures as skills").
			With("size", n).With("limit", EntryRunes)
	}
	return content, nil
}

// clean returns text in NFC with line feeds, without a byte order mark, control characters, and
// white space at the ends.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\uFEFF", "").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != 0 || r == 0x7F { // NUL is kept, so that the scan reports it
			return -1
		}
		return r
	}, text)
	lines := strings.Split(norm.NFC.String(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
