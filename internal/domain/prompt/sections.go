package prompt

import (
	"regexp"
	"slices"
	"strings"
)

// Section is a part of a system message: the name from the template and the hash of the text. It
// contains no user text.
type Section struct {
	Name string
	Hash string
}

// mark is a line of a template that starts a section.
type mark struct{ opening, name string }

var (
	marks, lastHeadings = readMarks()

	headings = regexp.MustCompile(`(?m)^# [^{\n]+$`)
	blocks   = regexp.MustCompile(`\{\{with \.(\w+)\}\}([^{\n]+)`) // optional parts of a session
)

// Sections divides a system message at the headings and the optional parts of its templates. Other
// headings do not divide it. To find what differs between two sessions, compare the hashes.
func Sections(system string) (out []Section) {
	name, from, at := "opening", 0, 0
	for line := range strings.Lines(system) {
		i := slices.IndexFunc(marks, func(m mark) bool { return strings.HasPrefix(line, m.opening) })
		if i >= 0 && at > from {
			out = append(out, Section{name, Hash(system[from:at])})
			from = at
		}
		if i >= 0 {
			name = marks[i].name
		}
		at += len(line)
	}
	if at > from {
		out = append(out, Section{name, Hash(system[from:])})
	}
	return out
}

// readMarks returns the marks of all templates, and the last heading of each session template.
func readMarks() (out []mark, last []string) {
	files, _ := templateFiles.ReadDir("templates")
	for _, f := range files {
		text, _ := templateFiles.ReadFile("templates/" + f.Name())
		found := headings.FindAllString(string(text), -1)
		for _, heading := range found {
			out = append(out, mark{heading, strings.TrimPrefix(heading, "# ")})
		}
		if strings.HasPrefix(f.Name(), "session.") {
			for _, b := range blocks.FindAllStringSubmatch(string(text), -1) {
				out = append(out, mark{b[2], strings.ToLower(b[1])})
			}
			last = append(last, found[len(found)-1])
		}
	}
	return out, last
}
