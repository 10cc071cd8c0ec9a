package skill

import (
	"fmt"
	"strings"
)

// Titles of the sections in their order. They are English in every language, so that a rendered
// document can be parsed.
const (
	titleWhenToUse    = "When to Use"
	titleTrigger      = "Trigger"
	titleInputs       = "Inputs"
	titleRules        = "Decision Rules"
	titleProcedure    = "Procedure"
	titlePitfalls     = "Pitfalls"
	titleVerification = "Verification"
	titleExperience   = "Experience"
	titlePreference   = "User Preferences"
	titleExamples     = "Examples"
	titleScripts      = "Scripts"
	titleTools        = "Tool Usage"
	titleOthers       = "Additional Information"

	seeAlso = "See also:"
)

// Render returns a SKILL.md, always the same bytes for the same skill: LF newlines, with
// exactly one at the end. It normalizes the document first.
func Render(d Document, o RenderOptions) []byte {
	return Compose(d.Name, d.Description, RenderBody(d), o)
}

// Compose returns the frontmatter followed by a body that is stored as bytes.
func Compose(name, description string, body []byte, o RenderOptions) []byte {
	md := RenderFrontmatter(name, description, o)
	if len(body) == 0 {
		return md
	}
	return append(append(md, '\n'), body...)
}

// RenderBody returns the document without its frontmatter, as it is stored; name and description
// are columns. It is empty for an empty document.
func RenderBody(d Document) []byte {
	d = d.Normalized()
	var b strings.Builder
	if d.Intro != "" {
		b.WriteString(d.Intro + "\n")
	}
	section := func(title, body string) {
		if body == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("## " + title + "\n" + body)
		if !strings.HasSuffix(body, "\n") {
			b.WriteByte('\n')
		}
	}
	section(titleWhenToUse, d.WhenToUse)
	section(titleTrigger, strings.Join(d.Trigger, ", "))
	section(titleInputs, bulleted.render(texts(d.Inputs)))
	section(titleRules, bulleted.render(texts(d.Rules)))
	section(titleProcedure, d.Procedure)
	section(titlePitfalls, d.Pitfalls)
	section(titleVerification, d.Verification)
	section(titleExperience, numbered.render(d.Experience))
	section(titlePreference, bulleted.render(d.Preference))
	section(titleExamples, renderExamples(d.Examples))
	section(titleScripts, renderScripts(d.Scripts))
	section(titleTools, bulleted.render(d.Tools))
	for _, s := range d.Sections {
		section(s.Title, s.Body)
	}
	section(titleOthers, renderOthers(d.Others, d.References))
	return []byte(b.String())
}

// Fence returns a text in a fence with more backticks than the text contains. info is its info
// string.
func Fence(info, text string) string {
	marks := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return marks + info + "\n" + text + "\n" + marks
}

// renderExamples puts each example in a fence.
func renderExamples(examples []string) string {
	var b strings.Builder
	for i, example := range examples {
		fmt.Fprintf(&b, "\n### Example %d\n%s\n", i+1, Fence("markdown", example))
	}
	return b.String()
}

func longestRun(text string, of rune) int {
	longest, current := 0, 0
	for _, r := range text {
		if r != of {
			current = 0
			continue
		}
		current++
		longest = max(longest, current)
	}
	return longest
}

func renderScripts(names []string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "- `./scripts/%s`\n", name)
	}
	return b.String()
}

func renderOthers(entries []Entry, references []string) string {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### %s\n%s\n", e.Key, e.Text)
	}
	if len(references) > 0 {
		b.WriteString("\n" + seeAlso + "\n")
	}
	for _, name := range references {
		fmt.Fprintf(&b, "- [%s](./reference/%s)\n", name, name)
	}
	return b.String()
}
