package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Strategy is a form in which texts are compared. Each is looser than the previous one.
type Strategy string

const (
	Exact         Strategy = "exact"
	Newline       Strategy = "newline"         // CRLF is LF
	TrailingSpace Strategy = "trailing_space"  // also ignores white space at the end of a line
	LineTrim      Strategy = "line_trim"       // also ignores white space at the start of a line
	SpaceAndPunct Strategy = "space_and_punct" // also folds other white space and typographic marks
)

var strategies = []Strategy{Exact, Newline, TrailingSpace, LineTrim, SpaceAndPunct}

// literal reports whether a hit equals the old text, except for line ends.
func (s Strategy) literal() bool { return s == Exact || s == Newline }

// indented reports whether a hit starts after the indent of its line.
func (s Strategy) indented() bool { return s == LineTrim || s == SpaceAndPunct }

// marks maps typographic characters to the ASCII text that they are exchanged with.
var marks = map[rune]string{'“': `"`, '”': `"`, '‘': "'", '’': "'", '–': "-", '—': "-", '−': "-", '…': "..."}

// foldedText is a folded text with the position of every byte in the original. It keeps start and
// end: a folded CRLF starts at its CR and ends after its LF, and the three bytes of a folded "…"
// have its start and end.
type foldedText struct {
	bytes      []byte
	start, end []int
	trimmed    struct{ left, right bool } // white space was removed at the start or the end
}

// span is a range of bytes.
type span struct{ start, end int }

func foldText(text string, strategy Strategy) foldedText {
	f := foldedText{bytes: make([]byte, 0, len(text)), start: make([]int, 0, len(text)), end: make([]int, 0, len(text))}
	for at := 0; at < len(text); {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		next := at + len(line)
		ending := span{next, min(next+1, len(text))}
		if strategy != Exact && ending.end > ending.start && strings.HasSuffix(line, "\r") {
			line, ending.start = line[:len(line)-1], ending.start-1
		}
		f.foldLine(line, at, at == 0, ending.end == len(text) && ending.start == ending.end, strategy)
		if ending.end > ending.start {
			f.add("\n", ending)
			if strategy == Exact && ending.start > 0 && text[ending.start-1] == '\r' {
				f.start[len(f.start)-1]-- // one position, so that no hit divides a CRLF
			}
		}
		at = ending.end
	}
	return f
}

// foldLine adds a line that starts at an offset of the original.
func (f *foldedText) foldLine(line string, at int, first, last bool, strategy Strategy) {
	if !strategy.literal() {
		right := strings.TrimRightFunc(line, unicode.IsSpace)
		f.trimmed.right = f.trimmed.right || last && len(right) < len(line)
		line = right
	}
	if strategy.indented() {
		left := strings.TrimLeftFunc(line, unicode.IsSpace)
		f.trimmed.left = f.trimmed.left || first && len(left) < len(line)
		line, at = left, at+len(line)-len(left)
	}
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		written := line[:size]
		if strategy == SpaceAndPunct {
			if unicode.IsSpace(r) {
				size = len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
				written = " "
			} else if mark, known := marks[r]; known {
				written = mark
			}
		}
		f.add(written, span{at, at + size})
		line, at = line[size:], at+size
	}
}

// add appends bytes that represent one position.
func (f *foldedText) add(written string, place span) {
	for i := range len(written) {
		f.bytes = append(f.bytes, written[i])
		f.start, f.end = append(f.start, place.start), append(f.end, place.end)
	}
}

// find returns the original positions of wanted, including overlapping ones. A hit does not start
// or end inside one position. If white space was removed from wanted, the hit must start or end at
// the same end of a line.
func (f foldedText) find(wanted foldedText) []span {
	var hits []span
	for _, from := range occurrences(f.bytes, wanted.bytes) {
		to := from + len(wanted.bytes)
		switch {
		case from > 0 && f.start[from-1] == f.start[from]:
		case to < len(f.bytes) && f.start[to] == f.start[to-1]:
		case wanted.trimmed.left && from > 0 && f.bytes[from-1] != '\n':
		case wanted.trimmed.right && to < len(f.bytes) && f.bytes[to] != '\n':
		default:
			hits = append(hits, span{f.start[from], f.end[to-1]})
		}
	}
	return hits
}

// occurrences returns the offsets of part in text, including overlapping ones, in linear time
// (Knuth, Morris and Pratt 1977).
func occurrences(text, part []byte) []int {
	if len(part) == 0 {
		return nil
	}
	border := make([]int, len(part)) // for each prefix of part: the length of its longest border
	for i, k := 1, 0; i < len(part); i++ {
		for k > 0 && part[i] != part[k] {
			k = border[k-1]
		}
		if part[i] == part[k] {
			k++
		}
		border[i] = k
	}
	var found []int
	k := 0
	for i, b := range text {
		for k > 0 && b != part[k] {
			k = border[k-1]
		}
		if b == part[k] {
			k++
		}
		if k == len(part) {
			found = append(found, i-len(part)+1)
			k = border[k-1]
		}
	}
	return found
}
