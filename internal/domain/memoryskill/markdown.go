package memoryskill

import "strings"

// Titles of the sections in a skill's Markdown, English in every language so
// that what was written can be read again.
const (
	titleDescription = "Description"
	titlePurpose     = "Purpose"
	titleWhenToUse   = "When to Use"
	titleHowToApply  = "How to Apply"
	titleConstraints = "Constraints"
)

// Render writes the skill as Markdown, normalised: frontmatter with name and
// action, the title, and a section for each part that is not empty. Equal skills
// have equal bytes.
func Render(s Skill) []byte {
	s = s.Normalised()
	var b strings.Builder
	// Quoted, for a name such as null is a word of YAML's own.
	b.WriteString("---\nname: \"" + s.Name + "\"\naction: \"" + string(s.Action) + "\"\n---\n\n# " + s.Title + "\n")
	section := func(title string, prefix string, texts ...string) {
		if len(texts) == 0 || texts[0] == "" {
			return
		}
		b.WriteString("\n## " + title + "\n")
		for _, text := range texts {
			b.WriteString(prefix + text + "\n")
		}
	}
	section(titleDescription, "", s.Description)
	section(titlePurpose, "", s.Purpose)
	section(titleWhenToUse, "- ", s.WhenToUse...)
	section(titleHowToApply, "- ", s.HowToApply...)
	section(titleConstraints, "- ", s.Constraints...)
	return []byte(b.String())
}
