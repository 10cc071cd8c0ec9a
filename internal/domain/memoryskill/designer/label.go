package designer

import (
	"slices"
	"strings"

	"cairn/internal/domain/lexical"
)

// Mechanism is what failed, as far as it can be computed.
type Mechanism string

const (
	Quality      Mechanism = "quality"      // the answer was in view and not usable
	Retrieval    Mechanism = "retrieval"    // it was remembered, and not found
	Storage      Mechanism = "storage"      // it was said, and not remembered
	Unanswerable Mechanism = "unanswerable" // it was never said
)

// View is where an answer can be looked for, besides what the case retrieved.
type View struct {
	Bank  []string // texts of all memories of the trace's bank
	Trace []string // texts of the spans
}

// minEvidence is the share of a passage's words that a text must keep to hold
// the passage.
const minEvidence = 0.6

// Label looks for the answer in the retrieved memories, in the whole bank and in
// the trace, in this order, and tells which step lost it.
func Label(c Case, v View) Mechanism {
	s := searched(c)
	switch {
	case s.in(c.Retrieved):
		return Quality
	case s.in(v.Bank):
		return Retrieval
	case s.in(v.Trace):
		return Storage
	}
	return Unanswerable
}

// answer is what to look for, as words without stop-words.
type answer struct {
	gold     [][][]string // alternatives, each of parts that must all be found
	evidence [][]string   // passages, one of which is enough
}

func searched(c Case) answer {
	var a answer
	for _, gold := range c.Gold {
		var parts [][]string
		for part := range strings.SplitSeq(gold, ",") {
			if words := lexical.Words(part); len(words) > 0 {
				parts = append(parts, words)
			}
		}
		if len(parts) > 0 {
			a.gold = append(a.gold, parts)
		}
	}
	for _, passage := range c.Evidence {
		if words := lexical.Words(passage); len(words) > 0 {
			a.evidence = append(a.evidence, words)
		}
	}
	return a
}

// in tells whether the texts hold the answer: a text with most words of a passage
// of evidence, or, since memories are written in other words than what was said,
// a text for each part of a right answer with all of the part's words.
func (a answer) in(texts []string) bool {
	var found []map[string]bool
	for _, text := range texts {
		words := map[string]bool{}
		for _, w := range lexical.Words(text) {
			words[w] = true
		}
		found = append(found, words)
	}
	holds := func(words []string, share float64) bool {
		return slices.ContainsFunc(found, func(text map[string]bool) bool {
			kept := 0
			for _, w := range words {
				if text[w] {
					kept++
				}
			}
			return float64(kept) >= share*float64(len(words))
		})
	}
	for _, passage := range a.evidence {
		if holds(passage, minEvidence) {
			return true
		}
	}
	for _, parts := range a.gold {
		if !slices.ContainsFunc(parts, func(part []string) bool { return !holds(part, 1) }) {
			return true
		}
	}
	return false
}
