package skill

import (
	"regexp"
	"strings"

	"cairn/internal/domain/transcript/fence"
)

// Headings that would end the section of a field. They are demoted to level 4.
var (
	sectionHeadings = regexp.MustCompile(`^( {0,3})#{1,2}([ \t]|$)`)
	entryHeadings   = regexp.MustCompile(`^( {0,3})#{1,3}([ \t]|$)`) // inside `### key` entries
	// introHeadings applies before the first section, where a title is allowed.
	introHeadings = regexp.MustCompile(`^( {0,3})##([ \t]|$)`)
)

const demoted = "${1}####${2}"

// maxPasses is far above the two passes that normal text needs. A text that still uncovers comments
// behind fences after it is escaped.
const maxPasses = 16

var defused = strings.NewReplacer("```", "'''", "~~~", "---", "<", "&lt;")

// layout describes how a text is placed in the document. The prefix of its lines determines what is
// a fence, and which headings it may not have.
type layout struct {
	first, rest string
	headings    *regexp.Regexp
}

var (
	sectionText = layout{headings: sectionHeadings}
	entryText   = layout{headings: entryHeadings}
	introText   = layout{headings: introHeadings}
	numbered    = layout{first: "1. ", rest: "   ", headings: sectionHeadings}
	bulleted    = layout{first: "- ", rest: "  ", headings: sectionHeadings}
)

// settle normalizes a text so that it survives rendering and parsing: clean, without active HTML
// and forged headings, and with every fence closed.
func (l layout) settle(text string) string {
	for pass := 1; ; pass++ {
		next := l.pass(clean(text))
		if next == text {
			break
		}
		if text = next; pass == maxPasses {
			text = defused.Replace(text)
		}
	}
	var code fence.Scanner
	for i, line := range strings.Split(text, "\n") {
		code.Line(l.prefix(i) + line)
	}
	if code.Open() {
		text += "\n" + strings.TrimLeft(code.Closing(), " ")
	}
	return text
}

// pass removes HTML and demotes headings once, outside fences.
func (l layout) pass(text string) string {
	var out, prose []string
	flush := func() {
		if prose == nil {
			return
		}
		for line := range strings.SplitSeq(RemoveHTML(strings.Join(prose, "\n")), "\n") {
			out = append(out, l.headings.ReplaceAllString(line, demoted))
		}
		prose = nil
	}
	var code fence.Scanner
	for i, line := range strings.Split(text, "\n") {
		if l.rest != "" && strings.TrimSpace(line) == "" {
			line = "" // an empty line of a list item has no indent
		}
		if code.Line(l.prefix(i) + line) {
			flush()
			out = append(out, line)
		} else {
			prose = append(prose, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

func (l layout) prefix(line int) string {
	if line == 0 {
		return l.first
	}
	return l.rest
}

var headingLine = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$`)

// heading parses an ATX heading. It returns its level, 0 for any other line, and its text.
func heading(line string) (level int, text string) {
	m := headingLine.FindStringSubmatch(line)
	if m == nil {
		return 0, ""
	}
	return len(m[1]), strings.TrimSpace(m[2])
}

// headingText returns a text in the form that heading returns: one line without trailing #.
func headingText(text string) string {
	for {
		_, next := heading("# " + withoutClosing(collapse(RemoveHTML(clean(text)))))
		if next == text {
			return text
		}
		text = next
	}
}

// withoutClosing removes all closing sequences of # of a line; heading removes one.
func withoutClosing(line string) string {
	for {
		rest := strings.TrimRight(line, "#")
		if rest == line || rest != "" && !strings.HasSuffix(rest, " ") {
			return line
		}
		line = strings.TrimRight(rest, " ")
	}
}
