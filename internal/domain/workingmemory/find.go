package workingmemory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Pattern is a search pattern with its options.
type Pattern struct {
	Pattern string `json:"pattern"`
	Regex   bool   `json:"regex"`  // RE2 syntax; otherwise a literal text, ignoring case
	Before  int    `json:"before"` // lines of context
	After   int    `json:"after"`
	Offset  int    `json:"offset"` // hits to skip
	Limit   int    `json:"limit"`  // maximum number of hits
}

// Limits of one search or read.
const (
	UsualContext = 5
	UsualHits    = 10
	MaxContext   = 50
	MaxHits      = 50
	MaxPattern   = 500 // in runes
	UsualLines   = 100
	MaxLines     = 1_000
	maxChars     = 40_000 // characters of one response
)

// fold is the maximum length of a line in runes. A longer line is divided into several, because the
// output of a tool can be a single line.
const fold = 400

// lines returns the lines of a text, which are numbered from 1.
func lines(text string) (out []string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out = append(out, folded(strings.TrimSuffix(line, "\r"))...)
	}
	return out
}

func folded(line string) (out []string) {
	for utf8.RuneCountInString(line) > fold {
		at := 0
		for range fold {
			_, n := utf8.DecodeRuneInString(line[at:])
			at += n
		}
		out, line = append(out, line[:at]), line[at:]
	}
	return append(out, line)
}

// Hit is a matching line with its context.
type Hit struct {
	Handle string   `json:"handle"`
	Label  string   `json:"label,omitempty"`
	Line   int      `json:"line"` // from 1
	Text   string   `json:"text"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// Hits is the result of a search.
type Hits struct {
	Hits       []Hit `json:"hits"`
	Total      int   `json:"total"`                 // of all hits
	NextOffset *int  `json:"next_offset,omitempty"` // of the hits that were not returned
}

// Finder searches one text after another for a pattern.
type Finder struct {
	pattern Pattern
	expr    *regexp.Regexp
	found   Hits
	chars   int
}

// NewFinder returns a Finder, or fault.InvalidArgument for an invalid pattern.
func NewFinder(p Pattern) (*Finder, error) {
	switch n := utf8.RuneCountInString(p.Pattern); {
	case n == 0 || n > MaxPattern:
		return nil, fault.Newf(fault.InvalidArgument, "pattern has %d characters, must have 1 to %d", n,
			MaxPattern)
	case strings.ContainsAny(p.Pattern, "\n\x00") || !utf8.ValidString(p.Pattern):
		return nil, fault.New(fault.InvalidArgument, "pattern has a line break or a control character",
			"search for text within one line")
	case p.Before < 0 || p.Before > MaxContext || p.After < 0 || p.After > MaxContext:
		return nil, fault.Newf(fault.InvalidArgument, "before is %d and after is %d, both must be 0 to %d",
			p.Before, p.After, MaxContext)
	case p.Offset < 0:
		return nil, fault.Newf(fault.InvalidArgument, "offset is %d, must be 0 or more", p.Offset)
	case p.Limit < 1 || p.Limit > MaxHits:
		return nil, fault.Newf(fault.InvalidArgument, "limit is %d, must be 1 to %d", p.Limit, MaxHits)
	}
	source := p.Pattern
	if !p.Regex {
		source = `(?i)` + regexp.QuoteMeta(source)
	}
	expr, err := regexp.Compile(source)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid regular expression: %v", err),
			"use RE2 syntax, without look-around and back-references, or leave regex out")
	}
	return &Finder{pattern: p, expr: expr, found: Hits{Hits: []Hit{}}}, nil
}

// Look searches one more text.
func (f *Finder) Look(handle, label, text string) {
	var all []string
	var hits []int // indices of lines
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		first := len(all)
		all = append(all, folded(line)...)
		if !f.expr.MatchString(line) {
			continue
		}
		if len(all) == first+1 {
			hits = append(hits, first)
			continue
		}
		for _, m := range f.expr.FindAllStringIndex(line, -1) {
			if at := first + utf8.RuneCountInString(line[:m[0]])/fold; at < len(all) &&
				!slices.Contains(hits[max(0, len(hits)-1):], at) {
				hits = append(hits, at)
			}
		}
	}
	for _, at := range hits {
		f.found.Total++
		if f.found.Total <= f.pattern.Offset || len(f.found.Hits) >= f.pattern.Limit || f.chars > maxChars {
			continue
		}
		h := Hit{Handle: handle, Label: label, Line: at + 1, Text: all[at],
			Before: clone(all[max(0, at-f.pattern.Before):at]),
			After:  clone(all[at+1 : min(len(all), at+1+f.pattern.After)])}
		f.chars += len(h.Text) + len(strings.Join(h.Before, "")) + len(strings.Join(h.After, ""))
		f.found.Hits = append(f.found.Hits, h)
	}
}

func clone(in []string) []string { return append([]string{}, in...) }

// Found returns the hits in all texts.
func (f *Finder) Found() Hits {
	if next := f.pattern.Offset + len(f.found.Hits); next < f.found.Total {
		f.found.NextOffset = &next
	}
	return f.found
}

// Page is a range of lines of a text.
type Page struct {
	Lines      []string `json:"lines"`
	From       int      `json:"from"`                  // number of the first line, from 1
	Total      int      `json:"total"`                 // number of lines in the text
	NextOffset *int     `json:"next_offset,omitempty"` // offset of the next page
}

// Read returns a range of lines. It skips offset lines and returns at most limit.
func Read(text string, offset, limit int) (Page, error) {
	switch {
	case offset < 0:
		return Page{}, fault.Newf(fault.InvalidArgument, "offset is %d, must be 0 or more", offset)
	case limit < 1 || limit > MaxLines:
		return Page{}, fault.Newf(fault.InvalidArgument, "limit is %d, must be 1 to %d", limit, MaxLines)
	}
	all := lines(text)
	p := Page{Lines: []string{}, From: offset + 1, Total: len(all)}
	end, chars := min(offset, len(all)), 0
	for end < len(all) && end-offset < limit && chars <= maxChars {
		p.Lines = append(p.Lines, all[end])
		chars += len(all[end])
		end++
	}
	if end < len(all) {
		p.NextOffset = &end
	}
	return p, nil
}
