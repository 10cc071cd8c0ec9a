package memoryskill

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed seeds/*.md
var seedFiles embed.FS

// seedNames are the skills that a new bank has in addition to the primitives.
var seedNames = []string{
	"corrections", "events_and_dates", "numbers_and_identifiers", "people_and_relations",
	"plans_and_commitments", "preferences",
}

// Seeds returns the skills of a new bank: the primitives and six skills for kinds of facts. With
// fewer than all of them per span, the policy has a choice to make.
func Seeds() []Skill {
	skills := Primitives()
	for _, name := range seedNames {
		skills = append(skills, shipped(seedFiles, "seeds/"+name+".md"))
	}
	return skills
}

// shipped parses an embedded skill.
func shipped(files embed.FS, path string) Skill {
	md, err := files.ReadFile(path)
	if err != nil {
		panic(err) // the files are embedded
	}
	s, err := Parse(md)
	if err != nil {
		panic(fmt.Errorf("%s: %w", path, err))
	}
	return s
}

// ShippedBank returns the bank of a new workspace: the skills of Seeds.
func ShippedBank(capacity int) (Bank, error) { return bankOf(capacity, Seeds()) }

// translations are the Chinese texts of the shipped skills, by the English text.
var translations = func() map[string]Skill {
	out := map[string]Skill{}
	for _, a := range Actions {
		out[string(Render(shipped(primitiveFiles, fmt.Sprintf("primitives/%s.md", a))))] =
			shipped(primitiveFiles, fmt.Sprintf("primitives/%s.zh.md", a))
	}
	for _, name := range seedNames {
		out[string(Render(shipped(seedFiles, "seeds/"+name+".md")))] = shipped(seedFiles, "seeds/"+name+".zh.md")
	}
	return out
}()

// In returns the skill in a language of prompts. The shipped skills have a Chinese text, which is
// used as long as a bank has their English text unchanged. Other skills have one text.
func (s Skill) In(lang string) Skill {
	if !strings.HasPrefix(lang, "zh") {
		return s
	}
	if translated, there := translations[string(Render(s))]; there {
		return translated
	}
	return s
}
