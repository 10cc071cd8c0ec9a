package memory

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// LongTermTypes are found by search and are not added to prompts automatically. The identity is a
// document and is not an entry of a list.
var LongTermTypes = []Type{Personal, Procedural, Guideline, Summary}

// Limits of long-term memories.
const (
	LongTermBytes = 8 << 10 // of the content
	UseRunes      = 500     // of WhenToUse
	MetadataBytes = 4 << 10
	IdentityBytes = 8 << 10
)

// The single targets of these types.
const (
	GuidelineTarget = "tool_guidelines"
	IdentityTarget  = "self"
)

// Scope limits an agent to the entries of one type and target. Target is a key.
type Scope struct {
	Type   Type
	Target string
}

// Holds reports whether an entry is inside the scope.
func (s Scope) Holds(e Entry) bool { return e.Type == s.Type && e.Target == s.Target }

// Name returns the scope in the form of a summary's targets.
func (s Scope) Name() string { return string(s.Type) + "/" + s.Target }

// Statement is a content about a scope.
type Statement struct {
	Scope   Scope
	Content string
}

// Reference names a session from which a memory was extracted.
type Reference struct {
	Memory  int64 // key of the memory
	History string
}

// Metadata is the user-defined part of an entry. It has its own column, so its names cannot
// conflict with fields of the entry.
type Metadata map[string]any

// With returns m with a change applied. A null removes a member. m is unchanged.
func (m Metadata) With(change Metadata) Metadata {
	out := maps.Clone(m)
	if out == nil {
		out = Metadata{}
	}
	for name, v := range change {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = v
		}
	}
	return out
}

// Check returns an error if the metadata is too large or cannot be encoded.
func (m Metadata) Check() error {
	raw, err := json.Marshal(m)
	if err != nil {
		return fault.New(fault.InvalidArgument, "invalid metadata: "+err.Error(), "")
	}
	if len(raw) > MetadataBytes {
		return fault.New(fault.TooLarge, fmt.Sprintf("metadata has %d bytes, at most %d are allowed", len(raw),
			MetadataBytes), "remove or shorten members")
	}
	return nil
}

// Text returns all text of the metadata, for a scan.
func (m Metadata) Text() string {
	if len(m) == 0 {
		return ""
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(raw)
}

// NormalizeLong returns the content of a long-term memory in the form that is stored and compared,
// or an error if it is empty or too long.
func NormalizeLong(content string) (string, error) {
	return bounded(content, LongTermBytes, "a memory")
}

// NormalizeIdentity is NormalizeLong for the identity.
func NormalizeIdentity(content string) (string, error) {
	return bounded(content, IdentityBytes, "the identity")
}

func bounded(content string, most int, what string) (string, error) {
	content = clean(content)
	if content == "" {
		return "", fault.New(fault.InvalidArgument, "content is empty", "state what to remember")
	}
	if len(content) > most {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("content has %d bytes, %s has at most %d", len(content),
			what, most), "shorten it, or split it into several memories")
	}
	return content, nil
}

// NormalizeUse returns WhenToUse as one line.
func NormalizeUse(use string) (string, error) {
	use = strings.Join(strings.Fields(clean(use)), " ")
	if n := utf8.RuneCountInString(use); n > UseRunes {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("when_to_use has %d characters, at most %d are allowed", n,
			UseRunes), "describe the situation in one sentence")
	}
	return use, nil
}

// Embedded returns the text that represents the entry in vector search: WhenToUse if it is set,
// else the content.
func (e Entry) Embedded() (text, field string) {
	if e.WhenToUse != "" {
		return e.WhenToUse, "when_to_use"
	}
	return e.Content, "content"
}

// timeLayout is the form of a time for models.
const timeLayout = "2006-01-02T15:04Z"

// Line returns the entry as search results show it: always one line.
//
//	memory_id=9f0c… [2026-03-01T10:00Z|2026-03-02T08:30Z] (personal/alice) travel: Flies from Osaka
//		ref_memory_id=51aa…
//
// The session is the source of the memory. source=untrusted marks a memory whose writer had seen
// untrusted text. A former content follows in parentheses, with the day until which it was valid.
func (e Entry) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory_id=%s [", e.ID)
	if e.EventTime != nil {
		b.WriteString(e.EventTime.UTC().Format(timeLayout) + "|")
	}
	target := e.Target
	if e.Type == Summary {
		target = strings.Join(e.Targets, ",")
	}
	fmt.Fprintf(&b, "%s] (%s/%s) ", e.UpdatedAt.UTC().Format(timeLayout), e.Type, oneLine(target))
	if e.WhenToUse != "" {
		b.WriteString(oneLine(e.WhenToUse) + ": ")
	}
	b.WriteString(oneLine(e.Content))
	for _, past := range e.Earlier {
		fmt.Fprintf(&b, " (until %s: %s)", past.ValidUntil.UTC().Format(time.DateOnly), oneLine(past.Content))
	}
	if e.Tainted {
		b.WriteString(" source=untrusted")
	}
	if n := len(e.Histories); n > 0 {
		b.WriteString(" ref_memory_id=" + e.Histories[n-1])
	}
	return b.String()
}

// oneLine escapes line breaks.
func oneLine(text string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text) }

// IdentityVersion is a version of the agent's self-description. Version 0 means none.
type IdentityVersion struct {
	Version   int       `json:"version"`
	Content   string    `json:"content"`
	Action    string    `json:"action,omitempty"` // replace, rollback or undo
	Origin    string    `json:"origin,omitempty"`
	Author    string    `json:"author,omitempty"`
	Run       string    `json:"run,omitempty"`
	History   string    `json:"ref_memory_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Lease is a time-limited claim of one run to write to a target. Writes carry its fencing token.
type Lease struct {
	Holder string    `json:"holder"`
	Fence  int64     `json:"fence"`
	Until  time.Time `json:"until"` // by the database's clock
}

// WrittenEntry is an entry that a run wrote.
type WrittenEntry struct {
	Entry   Entry
	First   int  // first version that the runs wrote
	Last    int  // last version that the runs wrote
	MovedOn bool // another writer changed it after First
}
