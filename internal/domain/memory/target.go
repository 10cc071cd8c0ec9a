package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Target is the subject of memories.
type Target struct {
	Row         int64      `json:"-"`
	Type        Type       `json:"memory_type"`
	Key         string     `json:"key"`
	Display     string     `json:"memory_target"` // name as first written
	Description string     `json:"description,omitempty"`
	Aliases     []string   `json:"aliases,omitempty"` // other keys of the same target
	Run         string     `json:"-"`                 // run that registered it
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

// NewTarget returns the target of a name. Its key is the folded name; Display keeps the spelling.
func NewTarget(t Type, name string) (Target, error) {
	display := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, clean(name))), " ")
	switch n := utf8.RuneCountInString(display); {
	case n == 0:
		return Target{}, fault.New(fault.InvalidArgument, "memory_target is empty",
			"send the name of the person, group or domain")
	case n > TargetRunes:
		return Target{}, fault.New(fault.TooLarge,
			fmt.Sprintf("memory_target has %d characters, at most %d are allowed", n, TargetRunes), "use a short name")
	}
	return Target{Type: t, Key: strings.Join(strings.Fields(fold(display)), " "), Display: display}, nil
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

// MatchKey returns the letters and digits of the key and the signs that join names. "Jin Li" and
// "jinli" are one person; "jinli&jiaji" differs.
func (t Target) MatchKey() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("-_.'’·", r) {
			return -1
		}
		return r
	}, t.Key)
}

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
