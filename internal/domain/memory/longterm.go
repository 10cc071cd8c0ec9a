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

// LongTermTypes are found by retrieval and stand in no prompt by themselves.
// The identity is a document, and no entry of any list.
var LongTermTypes = []Type{Personal, Procedural, Guideline, Summary}

// Limits of long-term memories.
const (
	LongTermBytes = 8 << 10 // of a content
	UseRunes      = 500     // of what an entry is for
	MetadataBytes = 4 << 10
	IdentityBytes = 8 << 10
)

// The one target of each of these types.
const (
	GuidelineTarget = "tool_guidelines"
	IdentityTarget  = "self"
)

// Scope is what the entries of one agent are about. Its Target is a key.
type Scope struct {
	Type   Type
	Target string
}

// Holds tells whether an entry is inside the scope.
func (s Scope) Holds(e Entry) bool { return e.Type == s.Type && e.Target == s.Target }

// Name is the scope as the targets of a summary spell it.
func (s Scope) Name() string { return string(s.Type) + "/" + s.Target }

// Metadata is what an entry says beside its content. It lies in a column of its
// own, so no name in it can be taken for a field of the entry.
type Metadata map[string]any

// With is m after a change, in which null takes a member away. m stays as it is.
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

// Check refuses what is too large to keep.
func (m Metadata) Check() error {
	raw, err := json.Marshal(m)
	if err != nil {
		return fault.New(fault.InvalidArgument, "the metadata is no JSON: "+err.Error(), "")
	}
	if len(raw) > MetadataBytes {
		return fault.New(fault.TooLarge, fmt.Sprintf("the metadata has %d bytes, at most %d are kept", len(raw),
			MetadataBytes), "keep a few short members")
	}
	return nil
}

// Text is all that the metadata says, for a scan.
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

// NormaliseLong brings the content of a long-term memory into the form that is
// stored and compared, and refuses what none may be.
func NormaliseLong(content string) (string, error) {
	return bounded(content, LongTermBytes, "a memory")
}

// NormaliseIdentity does the same for the identity.
func NormaliseIdentity(content string) (string, error) {
	return bounded(content, IdentityBytes, "the identity")
}

func bounded(content string, most int, what string) (string, error) {
	content = clean(content)
	if content == "" {
		return "", fault.New(fault.InvalidArgument, "the content is empty", "say what is to be remembered")
	}
	if len(content) > most {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("the content has %d bytes, %s has at most %d", len(content),
			what, most), "say it shorter, or as several memories")
	}
	return content, nil
}

// NormaliseUse brings what an entry is for into one line.
func NormaliseUse(use string) (string, error) {
	use = strings.Join(strings.Fields(clean(use)), " ")
	if n := utf8.RuneCountInString(use); n > UseRunes {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("when_to_use has %d characters, at most %d are kept", n,
			UseRunes), "name the situation in one sentence")
	}
	return use, nil
}

// Embedded is the text that stands for the entry in vector search: what it is
// for, when that is said, else what it says.
func (e Entry) Embedded() (text, field string) {
	if e.WhenToUse != "" {
		return e.WhenToUse, "when_to_use"
	}
	return e.Content, "content"
}

// timeLayout is how a model reads a moment.
const timeLayout = "2006-01-02T15:04Z"

// Line is the entry as retrieval shows it: one line, whatever it says.
//
//	memory_id=9f0c… [2026-03-01T10:00Z|2026-03-02T08:30Z] (personal/alice) travel: Flies from Osaka
//		ref_memory_id=51aa…
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
	if n := len(e.Histories); n > 0 {
		b.WriteString(" ref_memory_id=" + e.Histories[n-1])
	}
	return b.String()
}

// oneLine spells what would end a line.
func oneLine(text string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text) }

// IdentityVersion is a version of who the agent is. Version 0 is none yet.
type IdentityVersion struct {
	Version   int       `json:"version"`
	Content   string    `json:"content"`
	Action    string    `json:"action,omitempty"` // replace, rollback or undo
	Origin    string    `json:"origin,omitempty"`
	Author    string    `json:"author,omitempty"`
	Run       int64     `json:"run,omitempty"`
	History   string    `json:"ref_memory_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}
