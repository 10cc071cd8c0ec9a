package memoryskill

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
)

// Limits of a skill, in runes and items. All selected skills are part of one prompt, so a skill
// must be short.
const (
	maxDescription = 400
	maxText        = 600 // for each other text
	maxItems       = 12
)

// placeholder matches a template slot. The prompt has its own places for span and memories, and
// would show any other slot unfilled.
var placeholder = regexp.MustCompile(`\{\{|\}\}|\$\{|\{[A-Za-z_][A-Za-z0-9_ ` +
	`]*\}|<<[^<>]+>>|\[(?:INSERT|YOUR|TODO|PLACEHOLDER)\b[^\]]*\]`)

// Check rejects an unusable skill: a missing or too long part, a placeholder, or text that would
// attack its reader. The error names the field.
func Check(s Skill) error {
	s = s.Normalized()
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
				return wrong("leave it empty", "how_to_apply of a noop skill must be empty")
			}
		case missing:
			return wrong("set the field", "%s is missing", f.name)
		case len(f.texts) > maxItems:
			return wrong(
				"merge or remove items",
				"%s has %d items, at most %d are allowed",
				f.name,
				len(f.texts),
				maxItems,
			)
		}
		limit := maxText
		if f.name == "description" {
			limit = maxDescription
		}
		for _, text := range f.texts {
			if n := utf8.RuneCountInString(text); n > limit {
				return wrong(
					"shorten the text",
					"%s has a text of %d characters, at most %d are allowed",
					f.name,
					n,
					limit,
				)
			}
			if found := placeholder.FindString(text); found != "" {
				return wrong("describe it in words; the prompt already contains span and memories",
					"%s contains the placeholder %q", f.name, found)
			}
		}
	}
	texts := map[string]string{}
	for _, f := range s.fields() {
		texts[f.name] = strings.Join(f.texts, "\n") // the line of a finding is the number of the item
	}
	return guard.CheckSkill(texts, nil).Refusal()
}

// CheckName rejects an invalid name of a memory skill.
func CheckName(name string) error {
	if slugPattern.MatchString(name) {
		return nil
	}
	e := fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory skill name %q", line(name)),
		"use 3–64 lower-case letters, digits and underscores, starting with a letter")
	if suggestion := Slug(name); slugPattern.MatchString(suggestion) {
		return e.With("suggestion", suggestion)
	}
	return e
}
