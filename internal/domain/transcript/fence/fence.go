// Package fence finds Markdown code fences line by line, so that headings, speakers and prose
// inside a fence are ignored. Parsing, rendering and language detection share it and divide a text
// in the same way.
package fence

import (
	"regexp"
	"strings"
)

// Scanner reads the lines of one text. The zero value is positioned before the first line.
type Scanner struct {
	marker byte // ` or ~, 0 outside a fence
	length int  // of the opening run; the closing run is at least as long
	indent int  // columns before the opening run
}

// slack is the number of columns that a fence marker can be indented beyond its container
// (CommonMark 0.31, §4.5).
const slack = 3

// maxNesting is the depth of nested lists in which a fence is recognized on one line.
const maxNesting = 16

// markerWidth limits the indent of a list marker, so that the tenth item of a list is read like the
// ninth.
const markerWidth = 3

var listMarker = regexp.MustCompile(`^ {0,3}(?:[-*+]|[0-9]{1,9}[.)]) {1,4}`)

// Line reads the next line, without its newline, and reports whether it belongs to a fence:
// opening, content or closing.
func (s *Scanner) Line(line string) bool {
	if s.marker != 0 {
		if s.closes(line) {
			*s = Scanner{}
		}
		return true
	}
	return s.opens(line)
}

// Open reports whether a fence is open after the lines read so far.
func (s *Scanner) Open() bool { return s.marker != 0 }

// Closing returns the line that closes the open fence, or an empty text if none is open.
func (s *Scanner) Closing() string {
	if s.marker == 0 {
		return ""
	}
	return strings.Repeat(" ", s.indent) + strings.Repeat(string(s.marker), s.length)
}

func (s *Scanner) opens(line string) bool {
	indent := 0
	for range maxNesting {
		prefix := listMarker.FindString(line)
		if prefix == "" {
			break
		}
		indent += min(len(prefix), markerWidth)
		line = line[len(prefix):]
	}
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > slack {
		return false
	}
	marker, length := run(rest)
	if length < 3 || marker == '`' && strings.Contains(rest[length:], "`") {
		return false
	}
	*s = Scanner{marker: marker, length: length, indent: indent + len(line) - len(rest)}
	return true
}

func (s *Scanner) closes(line string) bool {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > s.indent+slack {
		return false
	}
	marker, length := run(rest)
	return marker == s.marker && length >= s.length && strings.TrimSpace(rest[length:]) == ""
}

// run returns the fence character that text starts with and the length of its run.
func run(text string) (marker byte, length int) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0
	}
	for length < len(text) && text[length] == text[0] {
		length++
	}
	return text[0], length
}

// Strip removes fenced code, including the markers.
func Strip(text string) string {
	var kept []string
	var s Scanner
	for line := range strings.SplitSeq(text, "\n") {
		if !s.Line(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
