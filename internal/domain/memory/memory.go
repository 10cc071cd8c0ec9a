// Package memory is what is remembered as short statements, and the rules by
// which they change. It knows no database: a Plan is made of the entries in
// force and the operations wanted, and says what to write.
//
// Two types are prompt memories, short enough to stand whole in every prompt:
// Core, what is true, and Profile, who the user is. A Soul is how the user wants
// to be answered; it is one text and no entry.
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

// Type is the kind of a memory.
type Type string

const (
	Core    Type = "core"    // what is true, always in the prompt
	Profile Type = "profile" // who the user is, always in the prompt
	Note    Type = "note"    // what happened on a day, found by search only

	Identity   Type = "identity"   // who the agent is: one document and no entry
	Personal   Type = "personal"   // facts about a named person or group
	Procedural Type = "procedural" // how things are done in a domain
	Guideline  Type = "tool"       // how to use a tool; the tool's name is in WhenToUse
	Summary    Type = "summary"    // digest of one session, which leads to the session
)

// PromptTypes stand whole in every prompt, in this order.
var PromptTypes = []Type{Profile, Core}

// Status of an entry.
type Status string

const (
	Active      Status = "active"
	Superseded  Status = "superseded" // another entry says the same
	Removed     Status = "removed"
	Quarantined Status = "quarantined" // kept for whoever looks into it, never shown to a model
)

// Limits that no setting raises.
const (
	EntryRunes      = 1000 // of one entry
	MatchRunes      = 1000 // of what selects an entry
	BatchOperations = 20
	SoulRunes       = 4000
	RunEntries      = 3 // that one autonomous run may add to the prompt memories
	WarnPercent     = 90
)

// Evidence is a range of messages, both ends included. The zero value is none.
type Evidence struct {
	Conversation int64 `json:"conversation_id,omitempty"`
	FromSeq      int   `json:"from_seq"`
	ToSeq        int   `json:"to_seq"`
}

// Entry is one remembered statement. Its ID is made when it is created and
// stays for life, whatever its content becomes.
type Entry struct {
	Key       int64      `json:"-"` // of its row, 0 while it has none
	ID        string     `json:"id"`
	Type      Type       `json:"type"`
	Target    string     `json:"target,omitempty"`
	Content   string     `json:"content"`
	Version   int        `json:"version"`
	Status    Status     `json:"status"`
	Origin    string     `json:"origin"`
	Tainted   bool       `json:"tainted,omitempty"`
	Run       int64      `json:"run,omitempty"`
	Evidence  *Evidence  `json:"evidence,omitempty"`
	EventTime *time.Time `json:"event_time,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`

	// Of long-term memories.
	WhenToUse    string   `json:"when_to_use,omitempty"` // is what is embedded, when there is one
	Metadata     Metadata `json:"metadata,omitempty"`
	Histories    []string `json:"ref_memory_ids,omitempty"` // sessions that it was drawn from, the latest last
	Author       string   `json:"author,omitempty"`         // model@prompt-hash
	Importance   float64  `json:"importance,omitempty"`
	Targets      []string `json:"targets,omitempty"` // of a summary: type/key of whom the session was about
	SupersededBy string   `json:"superseded_by,omitempty"`
	Retrieved    int      `json:"retrieve_count,omitempty"` // runs that were shown it
}

// Revision is what an entry said at a version, and who made it say so.
type Revision struct {
	Version   int       `json:"version"`
	Action    Action    `json:"action"`
	Content   string    `json:"content"`
	Origin    string    `json:"origin"`
	Tainted   bool      `json:"tainted,omitempty"`
	Run       int64     `json:"run,omitempty"`
	Evidence  *Evidence `json:"evidence,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	Status    Status   `json:"status,omitempty"` // after it
	WhenToUse string   `json:"when_to_use,omitempty"`
	Metadata  Metadata `json:"metadata,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	Author    string   `json:"author,omitempty"`
}

// NewID hashes what an entry is when it is created. A salt above 0 makes another
// id of the same, for when that one is taken.
func NewID(ws int64, t Type, target, content string, salt int) string {
	const separator = "\x1f" // occurs in no content
	sum := sha256.Sum256([]byte(strings.Join([]string{fmt.Sprint(ws), string(t), target, content, fmt.Sprint(salt)},
		separator)))
	return hex.EncodeToString(sum[:8])
}

// Normalise brings a content into the one form that is stored and compared, and
// refuses what no entry may be.
func Normalise(content string) (string, error) {
	content = clean(content)
	switch n := utf8.RuneCountInString(content); {
	case n == 0:
		return "", fault.New(fault.InvalidArgument, "the content is empty",
			"say in one sentence what is to be remembered")
	case n > EntryRunes:
		return "", fault.New(fault.TooLarge, fmt.Sprintf("the content has %d characters, an entry has at most %d", n,
			EntryRunes), "say it shorter, or as several entries; how something is done belongs in a skill").
			With("size", n).With("limit", EntryRunes)
	}
	return content, nil
}

// clean is NFC with line feeds, without a byte order mark, control characters
// and blanks at the ends.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\uFEFF", "").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != 0 || r == 0x7F { // NUL is left for the scan to report
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
