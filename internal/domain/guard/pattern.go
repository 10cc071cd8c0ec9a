package guard

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a regular expression that is tried only near its needles. Most texts contain no
// needle, so a hundred patterns cost a hundred substring searches instead of a hundred runs of an
// automaton.
type pattern struct {
	needles    []string // in lower case; every match contains one of them
	reach      int      // bytes on both sides of a needle that a match can include
	toSpace    bool     // a match can extend to the next white space
	expression *regexp.Regexp
}

// all returns the submatch indexes of every match in text. lower is text in lower case, with the
// same length in bytes.
func (p pattern) all(text, lower string) [][]int {
	var matches [][]int
	for _, w := range p.windows(lower) {
		for _, m := range p.expression.FindAllStringSubmatchIndex(text[w.start:w.end], -1) {
			for i := range m {
				if m[i] >= 0 {
					m[i] += w.start
				}
			}
			matches = append(matches, m)
		}
	}
	return matches
}

// window is a range of bytes.
type window struct{ start, end int }

// windows returns the ranges around the needles. Adjacent ranges are merged, so that no byte is
// tried twice.
func (p pattern) windows(lower string) []window {
	var places []int
	for _, needle := range p.needles {
		for at := 0; ; {
			i := strings.Index(lower[at:], needle)
			if i < 0 {
				break
			}
			places = append(places, at+i)
			at += i + len(needle)
		}
	}
	slices.Sort(places)
	var merged []window
	for _, at := range places {
		start, end := max(0, at-p.reach), min(len(lower), at+p.reach)
		last := len(merged) - 1
		if last >= 0 && start <= merged[last].end {
			merged[last].end = max(merged[last].end, end)
			continue
		}
		merged = append(merged, window{start, end})
	}
	return p.settleEnds(lower, merged)
}

// settleEnds moves the ends of windows to rune boundaries and, if toSpace is set, to the next white
// space.
func (p pattern) settleEnds(lower string, windows []window) []window {
	settled := windows[:0]
	for _, w := range windows {
		if last := len(settled) - 1; last >= 0 && w.start <= settled[last].end {
			if w.end <= settled[last].end {
				continue
			}
			w.start = settled[last].start
			settled = settled[:last]
		}
		for w.start > 0 && w.start < len(lower) && !utf8.RuneStart(lower[w.start]) {
			w.start--
		}
		for w.end < len(lower) && (!utf8.RuneStart(lower[w.end]) || p.toSpace && lower[w.end] > ' ') {
			w.end++
		}
		settled = append(settled, w)
	}
	return settled
}

// lowerASCII returns text with A–Z in lower case and unchanged offsets.
func lowerASCII(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		return text
	}
	lower := []byte(text)
	for i, b := range lower {
		if 'A' <= b && b <= 'Z' {
			lower[i] = b + ('a' - 'A')
		}
	}
	return string(lower)
}
