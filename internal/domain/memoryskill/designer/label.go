package designer

import (
	"slices"
	"strings"

	"cairn/internal/domain/lexical"
)

// Mechanism is the step that failed, as far as it can be computed.
type Mechanism string

const (
	Quality      Mechanism = "quality"      // the answer was retrieved but not usable
	Retrieval    Mechanism = "retrieval"    // the answer was remembered but not retrieved
	Storage      Mechanism = "storage"      // the answer was stated but not remembered
	Unanswerable Mechanism = "unanswerable" // the answer was never stated
)

// View holds the texts that may contain an answer, in addition to the retrieved memories.
type View struct {
	Bank  []string // texts of all memories of the trace's bank
	Trace []string // texts of the spans
}

// minEvidence is the share of a passage's words that a text needs to contain the passage.
const minEvidence = 0.6

// Label searches for the answer in the retrieved memories, the bank and the trace, in this order,
// and returns the step that lost it.
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

// answer holds the words to search for, without stop-words.
type answer struct {
	gold     [][][]string // alternatives, each with parts that must all be found
	evidence [][]string   // passages, one of which is sufficient
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

// in reports whether texts contain the answer. A text with most words of an evidence passage is
// sufficient. Because memories use other words than the conversation, it is also sufficient if each
// part of a correct answer is in one text with all of its words.
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
