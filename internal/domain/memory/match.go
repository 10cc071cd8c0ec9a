package memory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Select returns the one entry that match identifies: by its ID, its whole content, or a part of
// it. Case is ignored only if nothing matches with it. Entries with equal content are one hit, and
// the first is returned. Several hits are AmbiguousMatch with `count` and `matches` ([]Hit), whose
// texts are as stored.
func Select(entries []*Entry, match string) (*Entry, error) {
	match = clean(match)
	if match == "" {
		return nil, fault.New(fault.InvalidArgument, "match is empty", "send the ID of an entry, or a part of its text")
	}
	if n := utf8.RuneCountInString(match); n > MatchRunes {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("match has %d characters, at most %d are allowed", n, MatchRunes), "quote a shorter part").
			With("size", n).With("limit", MatchRunes)
	}
	folded := fold(match)
	for _, selects := range []func(*Entry) bool{
		func(e *Entry) bool { return e.ID == strings.ToLower(match) },
		func(e *Entry) bool { return e.Content == match },
		func(e *Entry) bool { return strings.Contains(e.Content, match) },
		func(e *Entry) bool { return strings.Contains(fold(e.Content), folded) },
	} {
		var hits []*Entry
		for _, e := range entries {
			if selects(e) && (len(hits) == 0 || hits[0].Content != e.Content) {
				hits = append(hits, e)
			}
		}
		if len(hits) == 1 {
			return hits[0], nil
		}
		if len(hits) > 1 {
			return nil, ambiguous(match, hits)
		}
	}
	return nil, fault.New(fault.NoMatch, fmt.Sprintf("no entry matches %q", short(match)),
		"search for the entry and use its ID, or quote a part of its text")
}

const (
	shownHits  = 5
	shownRunes = 80
)

// Hit is an entry that a match may identify.
type Hit struct {
	ID   string `json:"id"`
	Text string `json:"text"` // the beginning of its content
}

func ambiguous(match string, hits []*Entry) error {
	var names []string
	var shown []Hit
	for _, e := range hits[:min(len(hits), shownHits)] {
		names, shown = append(names, e.ID), append(shown, Hit{e.ID, short(e.Content)})
	}
	return fault.New(fault.AmbiguousMatch,
		fmt.Sprintf("%q matches %d entries: %s", short(match), len(hits), strings.Join(names, ", ")),
		"quote more of the entry, or send its ID").
		With("count", len(hits)).With("matches", shown)
}

func short(text string) string {
	if runes := []rune(text); len(runes) > shownRunes {
		return string(runes[:shownRunes]) + "…"
	}
	return text
}

func fold(text string) string { return cases.Fold().String(norm.NFKC.String(text)) }
