package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Target is who or what there are memories about.
type Target struct {
	Row         int64      `json:"-"`
	Type        Type       `json:"memory_type"`
	Key         string     `json:"key"`
	Display     string     `json:"memory_target"` // as it was first written
	Description string     `json:"description,omitempty"`
	Aliases     []string   `json:"aliases,omitempty"` // other keys that mean it
	Run         int64      `json:"-"`                 // that registered it
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  time.Time  `json:"last_used_at"`
	SummaryAt   *time.Time `json:"last_summary_at,omitempty"`
}

// Limits of targets.
const (
	TargetRunes      = 100
	DescriptionRunes = 300
	MetaLines        = 200 // that a prompt is shown
)

// Registered are the types whose targets are registered; the others have one.
var Registered = []Type{Personal, Procedural}

// descriptions say what a type holds, where nobody said it of a target.
var descriptions = map[Type]string{
	Personal:   "facts, preferences and background of this person or group",
	Procedural: "how things are done in this domain: steps, what made them succeed, what made them fail",
	Guideline:  "how to use each tool: good parameters, pitfalls, cost; ask with the exact name of the tool",
	Identity:   "who you are: role, personality, present state",
}

// NewTarget folds a name into a target's key, and keeps its spelling.
func NewTarget(t Type, name string) (Target, error) {
	display := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, clean(name))), " ")
	switch n := utf8.RuneCountInString(display); {
	case n == 0:
		return Target{}, fault.New(fault.InvalidArgument, "memory_target is empty", "name the person, group or domain")
	case n > TargetRunes:
		return Target{}, fault.New(fault.TooLarge,
			fmt.Sprintf("memory_target has %d characters, at most %d are kept", n, TargetRunes), "use a short name")
	}
	return Target{Type: t, Key: strings.Join(strings.Fields(fold(display)), " "), Display: display}, nil
}

// FixedTarget is the one target of a type that has but one.
func FixedTarget(t Type) (Target, bool) {
	switch t {
	case Guideline:
		return Target{Type: t, Key: GuidelineTarget, Display: GuidelineTarget}, true
	case Identity:
		return Target{Type: t, Key: IdentityTarget, Display: IdentityTarget}, true
	}
	return Target{}, false
}

// MatchKey is the letters and digits of the key with the signs that join names:
// "Jin Li" and "jinli" are one person, "jinli&jiaji" are others.
func (t Target) MatchKey() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("-_.'’·", r) {
			return -1
		}
		return r
	}, t.Key)
}

// Scope is the target as the scope of entries.
func (t Target) Scope() Scope { return Scope{t.Type, t.Key} }

// Line is what a prompt tells of the target: - <type>(<target>): <description>.
func (t Target) Line() string {
	description := t.Description
	if description == "" {
		description = descriptions[t.Type]
	}
	return fmt.Sprintf("- %s(%s): %s", t.Type, escapeName(t.Display), oneLine(description))
}

var (
	escapes   = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`, "\n", `\n`)
	unescapes = strings.NewReplacer(`\\`, `\`, `\(`, "(", `\)`, ")", `\n`, "\n")
)

func escapeName(name string) string { return escapes.Replace(name) }

// UnescapeName reads a name as a model copies it from a line.
func UnescapeName(name string) string { return unescapes.Replace(name) }

// NormaliseDescription brings a target's description into one line.
func NormaliseDescription(text string) (string, error) {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if n := utf8.RuneCountInString(text); n > DescriptionRunes {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("the description has %d characters, at most %d are kept", n,
			DescriptionRunes), "say in one sentence what is remembered there")
	}
	return text, nil
}

// NoTargets stands where there are no lines, so that a model is shown no error.
const NoTargets = "(no memory targets are registered yet)"

// MetaText is the lines of all targets: the registered ones in the order of
// their making, then tools, then the identity; more says how many are left out.
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
