package skill

import (
	"regexp"
	"strings"
)

// Sources of a rule.
const (
	SourcePolicy   = "policy"   // a system prompt or the documentation of a tool
	SourceUser     = "user"     // a user's lasting rule
	SourceObserved = "observed" // what happened
)

// When is the text of the section When to Use.
type When struct {
	Text string   // free text
	Use  []string // requests in users' words, without commas
	Not  []string // requests that need something else, without semicolons
}

const (
	useLabel = "Use when: "
	notLabel = "Not for: "
)

// ParseWhen parses the section.
func ParseWhen(section string) (w When) {
	var text []string
	for line := range strings.SplitSeq(section, "\n") {
		if list, ok := strings.CutPrefix(line, useLabel); ok {
			w.Use = append(w.Use, split(list, ",")...)
		} else if list, ok := strings.CutPrefix(line, notLabel); ok {
			w.Not = append(w.Not, split(list, ";")...)
		} else {
			text = append(text, line)
		}
	}
	w.Text = strings.TrimSpace(strings.Join(text, "\n"))
	return w
}

// String renders the section.
func (w When) String() string {
	var lines []string
	if w.Text != "" {
		lines = append(lines, w.Text, "")
	}
	if use := each(w.Use, ","); len(use) > 0 {
		lines = append(lines, useLabel+strings.Join(use, ", "))
	}
	if not := each(w.Not, ";"); len(not) > 0 {
		lines = append(lines, notLabel+strings.Join(not, "; "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// each returns items as one line each, without the mark that separates them.
func each(items []string, mark string) (out []string) {
	for _, item := range items {
		if item = line(strings.ReplaceAll(item, mark, " ")); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func split(list, mark string) []string { return each(strings.Split(list, mark), mark) }

// Input is something that the work needs.
type Input struct {
	Name     string `json:"name"`
	Origin   string `json:"origin,omitempty"` // where it comes from
	Required bool   `json:"required,omitempty"`
}

const required = " (required)"

// ParseInput parses a line such as "order number: from the customer (required)".
func ParseInput(text string) (in Input) {
	text = line(text)
	rest, needed := strings.CutSuffix(text, required)
	name, origin, _ := strings.Cut(rest, ": ")
	in = Input{Name: name, Origin: origin, Required: needed}
	if in.String() != text {
		return Input{Name: text}
	}
	return in
}

// String renders the line.
func (in Input) String() string {
	out := line(in.Name)
	if origin := line(in.Origin); origin != "" {
		out += ": " + origin
	}
	if in.Required {
		out += required
	}
	return out
}

// Rule is a decision. If, Value, Unit and Source may be empty.
type Rule struct {
	If     string `json:"if,omitempty"`
	Then   string `json:"then"`
	Value  string `json:"value,omitempty"` // without blanks
	Unit   string `json:"unit,omitempty"`
	Source string `json:"source,omitempty"` // Policy, User or Observed
}

const arrow = " → "

var ruleLine = regexp.MustCompile(`^(?:If (.+?) → )?(.+?)(?: \[(?:([^\[\]; ]+)(?: ([^\[\];]+))?; )?` +
	`(policy|user|observed)\])?$`)

// ParseRule parses a line such as "If the order is old → refuse [30 days; policy]".
func ParseRule(text string) Rule {
	text = line(text)
	if m := ruleLine.FindStringSubmatch(text); m != nil {
		if r := (Rule{m[1], m[2], m[3], m[4], m[5]}); r.String() == text {
			return r
		}
	}
	return Rule{Then: text}
}

// Sourced reports whether the rule has a source, as every rule of a distilled skill.
func (r Rule) Sourced() bool { return r.Source != "" }

// String renders the line.
func (r Rule) String() string {
	out := r.Statement()
	switch r.Source = line(r.Source); {
	case r.Source == "":
		return out
	case r.amount() != "":
		return out + " [" + r.amount() + "; " + r.Source + "]"
	}
	return out + " [" + r.Source + "]"
}

// Statement returns condition and consequence.
func (r Rule) Statement() string {
	if condition := partPlain(r.If); condition != "" {
		return "If " + strings.TrimPrefix(condition, "If ") + arrow + line(r.Then)
	}
	return line(r.Then)
}

// amount returns value and unit.
func (r Rule) amount() string {
	return line(strings.NewReplacer("[", " ", "]", " ", ";", " ").Replace(r.Value + " " + r.Unit))
}

// Pitfall is a failure and its fix. Cause may be empty.
type Pitfall struct {
	Error string `json:"error"` // verbatim
	Cause string `json:"cause,omitempty"`
	Fix   string `json:"fix"` // seen to work
}

var pitfallLine = regexp.MustCompile("^`([^`]+)` → (?:(.+?) → )?(.+)$")

// ParsePitfall parses a line such as "`price has changed` → the basket is old → read it again".
func ParsePitfall(text string) (p Pitfall, ok bool) {
	text = line(text)
	m := pitfallLine.FindStringSubmatch(text)
	if m == nil {
		return Pitfall{}, false
	}
	p = Pitfall{Error: m[1], Cause: m[2], Fix: m[3]}
	return p, p.String() == text
}

// String renders the line.
func (p Pitfall) String() string {
	out := "`" + line(strings.ReplaceAll(p.Error, "`", "'")) + "`" + arrow
	if cause := partPlain(p.Cause); cause != "" {
		out += cause + arrow
	}
	return out + partPlain(p.Fix)
}

// partPlain returns a text as one line without arrows.
func partPlain(text string) string { return line(strings.ReplaceAll(text, "→", "->")) }

// line returns a text as one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
