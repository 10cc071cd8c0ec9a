package memoryskill

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Action is the only kind of change that a skill may lead to.
type Action string

const (
	Insert Action = "insert" // adds a memory
	Update Action = "update" // rewrites one
	Delete Action = "delete" // takes one out of force
	Noop   Action = "noop"   // changes nothing; also written "skip"
)

// Actions are all of them.
var Actions = []Action{Insert, Update, Delete, Noop}

// ParseAction reads an action in any case, "skip" too. It is empty for anything
// else.
func ParseAction(text string) Action {
	switch a := Action(strings.ToLower(strings.TrimSpace(text))); a {
	case Insert, Update, Delete, Noop:
		return a
	case "skip":
		return Noop
	}
	return ""
}

// Skill is an instruction to the rememberer. Its parts are kept apart, so that
// they can be checked and compared one by one; Instructions joins them.
type Skill struct {
	Name        string   `json:"name"` // the key in a bank: ^[a-z][a-z0-9_]{2,63}$
	Title       string   `json:"title"`
	Description string   `json:"description"` // one or two sentences; the only text that is embedded for the choice
	Purpose     string   `json:"purpose"`
	WhenToUse   []string `json:"when_to_use"`
	HowToApply  []string `json:"how_to_apply,omitempty"` // none for Noop
	Constraints []string `json:"constraints"`
	Action      Action   `json:"action"`
}

// Normalised is the skill in the one form that is kept and hashed: every text a
// single line in NFC without control characters, no empty entries, a title.
func (s Skill) Normalised() Skill {
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

// Instructions is what the rememberer reads of the skill.
func (s Skill) Instructions() string {
	s = s.Normalised()
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

// fields are the skill's texts by name, in reading order.
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

// Slug makes a name of a title: "Capture Dates!" is capture_dates. It can still
// be too short for a name.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(words, "_")
	return strings.Trim(slug[:min(len(slug), 64)], "_")
}

// titleOf writes a name as words.
func titleOf(name string) string {
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' }), " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// line makes one clean line of any text.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(norm.NFC.String(text)), " ")
}

// paragraph is a line that cannot be taken for a heading.
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
