package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Target is the subject of memories.
type Target struct {
	Row         int64      `json:"-"`
	Type        Type       `json:"memory_type"`
	Key         string     `json:"key"`           // the ID, compared byte by byte
	Display     string     `json:"memory_target"` // the ID as prompts and reports show it
	Description string     `json:"description,omitempty"`
	Run         string     `json:"-"` // run that registered it
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  time.Time  `json:"last_used_at"`
	SummaryAt   *time.Time `json:"last_summary_at,omitempty"`
}

// Limits of targets.
const (
	TargetRunes      = 100
	DescriptionRunes = 300
	MetaLines        = 200 // in a prompt
)

// Registered are the types whose targets are registered. Other types have one target.
var Registered = []Type{Personal, Procedural}

// descriptions describe the memories of a type, for targets without a description.
var descriptions = map[Type]string{
	Personal:   "facts, preferences and background of this person or group",
	Procedural: "how things are done in this domain: steps, what made them succeed, what made them fail",
	Guideline:  "how to use each tool: good parameters, pitfalls, cost; ask with the exact name of the tool",
	Identity:   "who you are: role, personality, present state",
}

// NewTarget returns the target with an ID. IDs are equal if their bytes are equal after Unicode NFC:
// case, spaces and signs distinguish two targets.
func NewTarget(t Type, id string) (Target, error) {
	id = norm.NFC.String(id)
	switch n := utf8.RuneCountInString(id); {
	case strings.TrimSpace(id) == "":
		return Target{}, fault.New(fault.InvalidArgument, "memory_target is empty",
			"send the name of the person, group or domain")
	case n > TargetRunes:
		return Target{}, fault.New(fault.TooLarge,
			fmt.Sprintf("memory_target has %d characters, at most %d are allowed", n, TargetRunes), "use a short name")
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return Target{}, fault.New(fault.InvalidArgument,
			"memory_target contains control characters or is not valid UTF-8", "use an ID of printable characters")
	}
	return Target{Type: t, Key: id, Display: id}, nil
}

// NamedTarget returns the target that a name in a text would have if it is registered: without line
// breaks and repeated spaces.
func NamedTarget(t Type, name string) (Target, error) {
	return NewTarget(t, strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, clean(name))), " "))
}

// Spellings returns the IDs that a name in a text may stand for as it is: with and without the
// escapes of a line of a prompt.
func Spellings(name string) (out []string) {
	for _, text := range []string{name, UnescapeName(name)} {
		out = append(out, norm.NFC.String(text))
		if t, err := NamedTarget(Personal, text); err == nil {
			out = append(out, t.Key)
		}
	}
	return out
}

// maxNamed is the maximum number of targets that an error names.
const maxNamed = 3

// ByName returns the target that a person or a model means by a name in a text, of the targets with
// the same match key: the one with this ID, else the only one. If there are several, the error names
// them.
func ByName(name string, alike []Target) (Target, bool, error) {
	for _, id := range Spellings(name) {
		for _, t := range alike {
			if t.Key == id {
				return t, true, nil
			}
		}
	}
	switch len(alike) {
	case 0:
		return Target{}, false, nil
	case 1:
		return alike[0], true, nil
	}
	var ids []string
	for _, t := range alike[:min(len(alike), maxNamed)] {
		ids = append(ids, fmt.Sprintf("%.40q", t.Key))
	}
	return Target{}, false, fault.New(fault.AmbiguousMatch,
		fmt.Sprintf("name %.40q is ambiguous: it matches %d targets", name, len(alike)),
		"use one of these IDs exactly: "+strings.Join(ids, ", "))
}

// FixedTarget returns the target of a type with a single target.
func FixedTarget(t Type) (Target, bool) {
	switch t {
	case Guideline:
		return Target{Type: t, Key: GuidelineTarget, Display: GuidelineTarget}, true
	case Identity:
		return Target{Type: t, Key: IdentityTarget, Display: IdentityTarget}, true
	}
	return Target{}, false
}

// MatchKey returns the folded form of a name, by which a name in a text finds a target: the letters
// and digits of the key and the signs that join names. "Jin Li" and "jinli" are alike; "jinli&jiaji"
// differs. It never decides about an ID that a client sends.
func (t Target) MatchKey() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("-_.'’·", r) {
			return -1
		}
		return r
	}, fold(t.Key))
}

// FoldedKey returns the folded form of the name, with single spaces. Tombstones of erasures before
// the keys of targets were exact contain hashes of it.
func (t Target) FoldedKey() string { return strings.Join(strings.Fields(fold(t.Key)), " ") }

// Scope returns the target as a scope of entries.
func (t Target) Scope() Scope { return Scope{t.Type, t.Key} }

// Line returns the target as a prompt shows it: - <type>(<target>): <description>.
func (t Target) Line() string {
	description := t.Description
	if description == "" {
		description = descriptions[t.Type]
	}
	return fmt.Sprintf("- %s: %s", t.Mention(), oneLine(description))
}

// Mention returns the target as a line names it: <type>(<target>).
func (t Target) Mention() string { return fmt.Sprintf("%s(%s)", t.Type, escapeName(t.Display)) }

var (
	escapes   = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`, "\n", `\n`)
	unescapes = strings.NewReplacer(`\\`, `\`, `\(`, "(", `\)`, ")", `\n`, "\n")
)

func escapeName(name string) string { return escapes.Replace(name) }

// UnescapeName decodes a name that a model copied from a line.
func UnescapeName(name string) string { return unescapes.Replace(name) }

// NormalizeDescription returns a target's description as one line.
func NormalizeDescription(text string) (string, error) {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if n := utf8.RuneCountInString(text); n > DescriptionRunes {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("description has %d characters, at most %d are allowed", n,
			DescriptionRunes), "describe its memories in one sentence")
	}
	return text, nil
}

// NoTargets replaces the lines if there are none, so that a model does not see an empty list.
const NoTargets = "(no memory targets are registered yet)"

// MetaText returns the lines of all targets: the registered ones in order of creation, then tools,
// then the identity. more is the number of omitted targets.
func MetaText(registered []Target, more int, tools, identity bool) string {
	var lines []string
	for _, t := range registered {
		lines = append(lines, t.Line())
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("(%d more, used longer ago)", more))
	}
	for _, fixed := range []struct {
		t  Type
		on bool
	}{{Guideline, tools}, {Identity, identity}} {
		if t, ok := FixedTarget(fixed.t); ok && fixed.on {
			lines = append(lines, t.Line())
		}
	}
	if len(lines) == 0 {
		return NoTargets
	}
	return strings.Join(lines, "\n")
}
