package skill

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/transcript/fence"
)

// ParseDocument parses a SKILL.md with or without frontmatter, from Cairn or another tool. Sections
// start at level-2 headings outside fences. A section without its own field is kept under its
// title. The result is normalized, and rendering it loses nothing. An error is a *fault.Error about
// the frontmatter; every body is valid.
func ParseDocument(md []byte) (Document, error) {
	front, body, err := Split(md)
	if err != nil {
		return Document{}, err
	}
	d := ParseBody(body)
	d.Name, d.Description = headingText(front.Name), collapse(clean(front.Description))
	return d, nil
}

// ParseBody parses a document without frontmatter, as it is stored.
func ParseBody(body string) Document {
	intro, sections := cutSections(strings.ReplaceAll(body, "\r\n", "\n"))
	return Document{Intro: intro, Sections: sections}.Normalized()
}

// cutSections divides a text with LF newlines at its level-2 headings outside fences. Titles and
// bodies are unchanged, including empty ones.
func cutSections(body string) (intro string, sections []Section) {
	var lines []string
	flush := func() {
		text := strings.Join(lines, "\n")
		lines = nil
		if len(sections) == 0 {
			intro = text
		} else {
			sections[len(sections)-1].Body = text
		}
	}
	var code fence.Scanner
	for line := range strings.SplitSeq(body, "\n") {
		if !code.Line(line) {
			if level, title := heading(line); level == 2 {
				flush()
				sections = append(sections, Section{Title: title})
				continue
			}
		}
		lines = append(lines, line)
	}
	flush()
	return intro, sections
}

func parseTriggers(body string) []string {
	lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' })
	for _, line := range lines {
		if itemStart.MatchString(line) {
			return lines // settleTriggers removes the markers
		}
	}
	return []string{strings.Join(lines, " ")}
}

var exampleHeading = regexp.MustCompile(`^### Example [0-9]+$`)

// parseExamples parses `### Example N` blocks. A section without them is one example.
func parseExamples(body string) []string {
	var examples []string
	var code fence.Scanner
	var lines []string
	found := false
	flush := func() {
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
			examples = append(examples, unfenced(text))
		}
		lines = nil
	}
	for line := range strings.SplitSeq(body, "\n") {
		if !code.Line(line) && exampleHeading.MatchString(line) {
			flush()
			found = true
			continue
		}
		lines = append(lines, line)
	}
	flush()
	if !found && len(examples) == 0 {
		return nil
	}
	return examples
}

// unfenced removes the fence that renderExamples adds to an example.
func unfenced(text string) string {
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	marks := strings.TrimSuffix(lines[0], "markdown")
	if last < 1 || marks == lines[0] || len(marks) < 3 || strings.Trim(marks, "`") != "" {
		return text
	}
	var code fence.Scanner
	for i, line := range lines {
		if code.Line(line); code.Open() != (i < last) {
			return text
		}
	}
	return strings.Join(lines[1:last], "\n")
}

var (
	scriptLine    = regexp.MustCompile("^- `\\./scripts/([^`]+)`$")
	referenceLine = regexp.MustCompile(`^- \[([^\]]+)\]\(\./reference/([^)]+)\)$`)
)

// parseNames parses a list of files as render writes it. ok is false for any other content, which
// then stays a section.
func parseNames(pattern *regexp.Regexp, kind string, lines []string) (names []string, ok bool) {
	for _, line := range lines {
		if line == "" {
			continue
		}
		m := pattern.FindStringSubmatch(line)
		if m == nil || m[1] != m[len(m)-1] {
			return nil, false
		}
		if cleaned, err := CheckFile(kind, m[1]); err != nil || cleaned != m[1] {
			return nil, false
		}
		names = append(names, m[1])
	}
	return names, true
}

// parseOthers parses `### key` entries and the list of reference files.
func parseOthers(body string) (entries []Entry, references []string, ok bool) {
	lines := strings.Split(body, "\n")
	var text []string // of the current entry
	finish := func() {
		if len(entries) > 0 {
			entries[len(entries)-1].Text = strings.Join(text, "\n")
		}
		text = nil
	}
	var code fence.Scanner
	for i, line := range lines {
		if code.Line(line) {
			if len(entries) == 0 {
				return nil, nil, false
			}
		} else if level, key := heading(line); level == 3 {
			finish()
			entries = append(entries, Entry{Key: key})
			continue
		} else if line == seeAlso {
			references, ok = parseNames(referenceLine, Reference, lines[i+1:])
			if ok {
				break
			}
		}
		if len(entries) > 0 {
			text = append(text, line)
		} else if line != "" {
			return nil, nil, false
		}
	}
	finish()
	empty := slices.ContainsFunc(entries, func(e Entry) bool { return strings.TrimSpace(e.Text) == "" })
	if empty {
		return nil, nil, false
	}
	return entries, references, true
}
