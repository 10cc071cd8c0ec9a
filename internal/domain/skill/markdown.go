package skill

import (
	"regexp"
	"strings"

	"cairn/internal/domain/transcript/fence"
)

// What a field may not hold when it stands in the document: headings that
// would end its section. They are demoted to level 4.
var (
	sectionHeadings = regexp.MustCompile(`^( {0,3})#{1,2}([ \t]|$)`)
	entryHeadings   = regexp.MustCompile(`^( {0,3})#{1,3}([ \t]|$)`) // inside `### key` entries
	// before the first section, where a title is welcome
	introHeadings = regexp.MustCompile(`^( {0,3})##([ \t]|$)`)
)

const demoted = "${1}####${2}"

// maxPasses is far above what honest text takes, two; a text that goes on
// uncovering comments behind fences is then defused.
const maxPasses = 16

var defused = strings.NewReplacer("```", "'''", "~~~", "---", "<", "&lt;")

// layout is how a text will stand in the document: what precedes each of its
// lines, which decides what is a fence, and which headings it may not have.
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

// settle brings a text into the form that survives rendering and parsing:
// clean, without active HTML and forged headings, every fence closed.
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
		for line := range strings.SplitSeq(withoutHTML(strings.Join(prose, "\n")), "\n") {
			out = append(out, l.headings.ReplaceAllString(line, demoted))
		}
		prose = nil
	}
	var code fence.Scanner
	for i, line := range strings.Split(text, "\n") {
		if l.rest != "" && strings.TrimSpace(line) == "" {
			line = "" // an empty line of a list item has no indent to keep
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

// heading reads an ATX heading: its level, 0 for any other line, and its text.
func heading(line string) (level int, text string) {
	m := headingLine.FindStringSubmatch(line)
	if m == nil {
		return 0, ""
	}
	return len(m[1]), strings.TrimSpace(m[2])
}

// headingText is a text in the form that a heading gives back: one line, no
// trailing #.
func headingText(text string) string {
	for {
		_, next := heading("# " + withoutClosing(collapse(withoutHTML(clean(text)))))
		if next == text {
			return text
		}
		text = next
	}
}

// withoutClosing takes all closing sequences of # off a line, which heading
// would take off one by one.
func withoutClosing(line string) string {
	for {
		rest := strings.TrimRight(line, "#")
		if rest == line || rest != "" && !strings.HasSuffix(rest, " ") {
			return line
		}
		line = strings.TrimRight(rest, " ")
	}
}
