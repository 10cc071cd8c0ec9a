package skill

import (
	"regexp"
	"slices"
	"strings"
)

// Elements that run, or change how other content is shown.
var (
	activeOpening = regexp.MustCompile(`(?i)^</?(script|style|iframe|object|embed)\b`)
	activeClosing = regexp.MustCompile(`(?i)</(script|style|iframe|object|embed)\s*>`)
)

const (
	commentOpening = "<!--"
	commentClosing = "-->"
)

// RemoveHTML replaces comments and active elements with a space, because a reader of the page does
// not see them, or would run them. An opening without an end is escaped. Inline code is unchanged.
// The time is linear in the text.
func RemoveHTML(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var b strings.Builder
	ends := elementEnds{text, strings.LastIndex(text, commentClosing), activeClosing.FindAllStringIndex(text, -1), -1}
	for at := 0; at < len(text); {
		rest := text[at:]
		switch {
		case rest[0] == '`':
			n := codeSpan(rest)
			b.WriteString(rest[:n])
			at += n
		case strings.HasPrefix(rest, commentOpening), activeOpening.MatchString(rest):
			if end := ends.endOf(at); end > at {
				b.WriteByte(' ')
				at = end
			} else {
				b.WriteString("&lt;")
				at++
			}
		default:
			n := strings.IndexAny(rest[1:], "`<") + 1
			if n == 0 {
				n = len(rest)
			}
			b.WriteString(rest[:n])
			at += n
		}
	}
	return b.String()
}

// codeSpan returns the length of the inline code at the start of text, or 1 for a backtick without
// a span.
func codeSpan(text string) int {
	end := strings.IndexAny(text[1:], "`\n")
	if end <= 0 || text[1+end] == '\n' {
		return 1
	}
	return end + 2
}

// elementEnds finds the ends of comments and elements in a text.
type elementEnds struct {
	text        string
	lastComment int     // end of the last comment, -1 if there is none
	closings    [][]int // closing tags, in order
	tag         int     // the > found last, which closes every earlier opening
}

// endOf returns the end of the comment or element that starts at an offset, 0 if it has none. Call it
// in the order of the text.
func (e *elementEnds) endOf(at int) int {
	if strings.HasPrefix(e.text[at:], commentOpening) {
		from := at + len(commentOpening)
		if e.lastComment < from {
			return 0
		}
		return from + strings.Index(e.text[from:], commentClosing) + len(commentClosing)
	}
	if e.tag < at {
		if n := strings.IndexByte(e.text[at:], '>'); n >= 0 {
			e.tag = at + n
		} else {
			e.tag = len(e.text)
		}
	}
	if e.tag == len(e.text) || e.text[at+1] == '/' {
		return 0
	}
	i, _ := slices.BinarySearchFunc(e.closings, e.tag+1, func(closing []int, from int) int { return closing[0] - from })
	if i == len(e.closings) {
		return 0
	}
	return e.closings[i][1]
}
