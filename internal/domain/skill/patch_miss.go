package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Amounts of text in an error, in runes except for the counts.
const (
	shownMatches = 5
	snippetRunes = 80
	snippetLead  = 30 // before a hit that is far from the start of its line
	shownClosest = 3
	closestRunes = 200
	previewRunes = 500
)

// minLikeness is the share of common character pairs below which lines are unrelated.
const minLikeness = 0.2

// Excerpt is a part of a text with its line, from 1.
type Excerpt struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

func ambiguous(content string, hits []span, strategy Strategy, replaceAll bool) error {
	var matches []Excerpt
	line, at := 1, 0
	for _, hit := range hits[:min(len(hits), shownMatches)] {
		line += strings.Count(content[at:hit.start], "\n")
		at = hit.start
		matches = append(matches, Excerpt{line, snippet(content, hit.start)})
	}
	hint := "quote more of the surrounding text so that it matches once, or set replace_all"
	switch {
	case replaceAll:
		hint = "quote the text exactly, which replace_all requires, or patch one place at a time"
	case !strategy.literal():
		hint = ""
	}
	return fault.New(fault.AmbiguousMatch, fmt.Sprintf("old_string matches %d places (%s)", len(hits), strategy), hint).
		With("count", len(hits)).With("matches", matches)
}

// snippet returns the line around a hit, which may start with a line break.
func snippet(content string, hit int) string {
	start := strings.LastIndexByte(content[:hit], '\n') + 1
	line, _, _ := strings.Cut(content[start:], "\n")
	before := []rune(content[start:hit])
	shown := []rune(line)
	if len(shown) > snippetRunes {
		from := min(max(0, len(before)-snippetLead), len(shown)-snippetRunes)
		shown = shown[from : from+snippetRunes]
	}
	return strings.TrimSpace(string(shown))
}

func noMatch(content, old, hint string) error {
	closest := closestLines(content, old)
	from := 0
	if len(closest) > 0 {
		for range closest[0].Line - 1 {
			from += strings.IndexByte(content[from:], '\n') + 1
		}
	}
	return fault.New(fault.NoMatch, "old_string is not in the text", hint).
		With("closest", closest).With("preview", head(content[from:], previewRunes))
}

// closestLines returns the lines that are most similar to the longest line of old, best first.
func closestLines(content, old string) []Excerpt {
	longest := slices.MaxFunc(strings.Split(old, "\n"), func(a, b string) int {
		return cmp.Compare(len(strings.TrimSpace(a)), len(strings.TrimSpace(b)))
	})
	wanted := pairsOf(longest)
	type scored struct {
		Excerpt
		likeness float64
	}
	var lines []scored
	number := 0
	for line := range strings.SplitSeq(content, "\n") {
		number++
		if l := likeness(wanted, pairsOf(line)); l >= minLikeness {
			lines = append(lines, scored{Excerpt{number, head(strings.TrimSpace(line), closestRunes)}, l})
		}
	}
	slices.SortStableFunc(lines, func(a, b scored) int { return cmp.Compare(b.likeness, a.likeness) })
	closest := []Excerpt{}
	for _, l := range lines[:min(len(lines), shownClosest)] {
		closest = append(closest, l.Excerpt)
	}
	return closest
}

// pairsOf counts the pairs of adjacent runes of a folded text.
func pairsOf(text string) map[[2]rune]int {
	pairs := map[[2]rune]int{}
	previous := ' '
	for _, r := range fold(text) {
		pairs[[2]rune{previous, r}]++
		previous = r
	}
	return pairs
}

// likeness returns the share of pairs that two texts have in common (Dice 1945).
func likeness(a, b map[[2]rune]int) float64 {
	total, shared := 0, 0
	for pair, n := range b {
		total += n
		shared += min(n, a[pair])
	}
	for _, n := range a {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(total)
}

// head returns the start of a text, at most limit runes.
func head(text string, limit int) string {
	at := 0
	for range limit {
		if at == len(text) {
			return text
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at]
}
