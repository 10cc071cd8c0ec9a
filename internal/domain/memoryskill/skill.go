package memoryskill

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/lang"
)

// Action is the only kind of change that a skill may make.
type Action string

const (
	Insert Action = "insert" // adds a memory
	Update Action = "update" // rewrites a memory
	Delete Action = "delete" // deactivates a memory
	Noop   Action = "noop"   // changes nothing; also written "skip"
)

// Actions lists all actions.
var Actions = []Action{Insert, Update, Delete, Noop}

// ParseAction parses an action in any case, including "skip". It returns the empty action for any
// other text.
func ParseAction(text string) Action {
	switch a := Action(strings.ToLower(strings.TrimSpace(text))); a {
	case Insert, Update, Delete, Noop:
		return a
	case "skip":
		return Noop
	}
	return ""
}

// Skill is an instruction for extracting memories. Its parts are separate, so that they can be
// checked and compared; Instructions joins them.
type Skill struct {
	Name        string   `json:"name"` // unique in a bank: ^[a-z][a-z0-9_]{2,63}$
	Title       string   `json:"title"`
	Description string   `json:"description"` // one or two sentences; the only embedded text
	Purpose     string   `json:"purpose"`
	WhenToUse   []string `json:"when_to_use"`
	HowToApply  []string `json:"how_to_apply,omitempty"` // empty for Noop
	Constraints []string `json:"constraints"`
	Action      Action   `json:"action"`
}

// Normalized returns the skill in the form that is stored and hashed: every text is one line in NFC
// without control characters, without empty entries, and with a title.
func (s Skill) Normalized() Skill {
	s.Name = strings.TrimSpace(s.Name)
	s.Title = line(s.Title)
	if s.Title == "" {
		s.Title = titleOf(s.Name)
	}
	s.Description, s.Purpose = paragraph(s.Description), paragraph(s.Purpose)
	s.WhenToUse, s.HowToApply, s.Constraints = lines(s.WhenToUse), lines(s.HowToApply), lines(s.Constraints)
	if a := ParseAction(string(s.Action)); a != "" {
		s.Action = a
	}
	return s
}

// Instructions returns the text of the skill for the model.
func (s Skill) Instructions() string {
	s = s.Normalized()
	var b strings.Builder
	b.WriteString(s.Title + "\n")
	list := func(title string, items []string) {
		if len(items) == 0 {
			return
		}
		b.WriteString("\n" + title + ":\n")
		for _, item := range items {
			b.WriteString("- " + item + "\n")
		}
	}
	if s.Purpose != "" {
		b.WriteString("\nPurpose: " + s.Purpose + "\n")
	}
	list("When to use", s.WhenToUse)
	list("How to apply", s.HowToApply)
	list("Constraints", s.Constraints)
	b.WriteString("\nThe only action allowed here is " + strings.ToUpper(string(s.Action)) + ".\n")
	return b.String()
}

// Tokens returns the estimated length of the skill in a prompt.
func (s Skill) Tokens() int { return lang.EstimateTokens(s.Instructions()) }

// fields returns the skill's texts by name, in reading order.
func (s Skill) fields() []field {
	return []field{
		{"title", []string{s.Title}}, {"description", []string{s.Description}}, {"purpose", []string{s.Purpose}},
		{"when_to_use", s.WhenToUse}, {"how_to_apply", s.HowToApply}, {"constraints", s.Constraints},
	}
}

type field struct {
	name  string
	texts []string
}

var slugPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{2,63}$`)

// Slug converts a title to a name: "Capture Dates!" becomes capture_dates. The result can be too
// short for a name.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(words, "_")
	return strings.Trim(slug[:min(len(slug), 64)], "_")
}

// titleOf converts a name to words.
func titleOf(name string) string {
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' }), " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// line converts any text to one clean line.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(norm.NFC.String(text)), " ")
}

// paragraph returns a line that cannot be parsed as a heading.
func paragraph(text string) string {
	text = line(text)
	for headingLine.MatchString(text) {
		text = headingLine.FindStringSubmatch(text)[2]
	}
	return text
}

func lines(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text = line(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
