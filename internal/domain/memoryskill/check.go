package memoryskill

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
)

// Limits of a skill, in runes and items. All that is selected goes into one
// prompt, so a skill is short.
const (
	maxDescription = 400
	maxText        = 600 // every other text
	maxItems       = 12
)

// placeholder is a slot for context: the prompt has places of its own for span
// and memories, and a skill that brings another one would show it unfilled.
var placeholder = regexp.MustCompile(`\{\{|\}\}|\$\{|\{[A-Za-z_][A-Za-z0-9_ ` +
	`]*\}|<<[^<>]+>>|\[(?:INSERT|YOUR|TODO|PLACEHOLDER)\b[^\]]*\]`)

// Check refuses a skill that cannot be used: a part missing or too long, a
// placeholder, or text that would attack its reader. The error names the field.
func Check(s Skill) error {
	s = s.Normalised()
	if err := CheckName(s.Name); err != nil {
		return err
	}
	wrong := func(hint, format string, args ...any) error {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("skill %q: ", s.Name)+fmt.Sprintf(format, args...), hint)
	}
	if ParseAction(string(s.Action)) == "" {
		return wrong("use insert, update, delete or noop", "unknown action %q", s.Action)
	}
	for _, f := range s.fields() {
		missing := len(f.texts) == 0 || f.texts[0] == ""
		switch {
		case f.name == "how_to_apply" && s.Action == Noop:
			if !missing {
				return wrong("leave it empty", "a noop skill has nothing to apply")
			}
		case missing:
			return wrong("fill it in", "%s is missing", f.name)
		case len(f.texts) > maxItems:
			return wrong("merge or drop some", "%s has %d items; %d are allowed", f.name, len(f.texts), maxItems)
		}
		limit := maxText
		if f.name == "description" {
			limit = maxDescription
		}
		for _, text := range f.texts {
			if n := utf8.RuneCountInString(text); n > limit {
				return wrong("shorten it", "%s has %d characters in one text; %d are allowed", f.name, n, limit)
			}
			if found := placeholder.FindString(text); found != "" {
				return wrong("say it in words; span and memories are shown beside the skill",
					"%s holds the placeholder %q", f.name, found)
			}
		}
	}
	texts := map[string]string{}
	for _, f := range s.fields() {
		texts[f.name] = strings.Join(f.texts, "\n") // an item is a line of the finding
	}
	return guard.CheckSkill(texts, nil).Refusal()
}

// CheckName refuses what is no name of a memory skill.
func CheckName(name string) error {
	if slugPattern.MatchString(name) {
		return nil
	}
	e := fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no name of a memory skill", line(name)),
		"use 3–64 lower-case letters, digits and underscores, a letter first")
	if suggestion := Slug(name); slugPattern.MatchString(suggestion) {
		return e.With("suggestion", suggestion)
	}
	return e
}
