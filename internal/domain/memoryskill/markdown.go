package memoryskill

import "strings"

// Titles of the sections in a skill's Markdown. They are English in every language, so that Parse
// can read them.
const (
	titleDescription = "Description"
	titlePurpose     = "Purpose"
	titleWhenToUse   = "When to Use"
	titleHowToApply  = "How to Apply"
	titleConstraints = "Constraints"
)

// Render returns the skill as normalized Markdown: frontmatter with name and action, the title, and
// a section for each part that is not empty. Equal skills have equal bytes.
func Render(s Skill) []byte {
	s = s.Normalized()
	var b strings.Builder
	// The name is quoted because a name such as null is a YAML keyword.
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
