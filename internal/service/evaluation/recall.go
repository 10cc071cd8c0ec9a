package evaluation

import "cairn/internal/domain/lexical"

// kept is the minimum share of a passage's content words in a text that still contains the passage.
// If only IDs were compared, a store with four words of everything would score best.
const kept = 0.6

// Bag is a set of content words.
type Bag map[string]bool

// Content returns the content words of texts.
func Content(texts ...string) Bag {
	out := Bag{}
	for _, text := range texts {
		for _, w := range lexical.Words(text) {
			out[w] = true
		}
	}
	return out
}

// Share returns the share of b that other contains, and false if b is empty.
func (b Bag) Share(other Bag) (float64, bool) {
	found := 0
	for w := range b {
		if other[w] {
			found++
		}
	}
	return float64(found) / float64(max(1, len(b))), len(b) > 0
}

// And returns the words that both contain.
func (b Bag) And(other Bag) Bag {
	out := Bag{}
	for w := range b {
		if other[w] {
			out[w] = true
		}
	}
	return out
}

// Held reports whether one of the texts contains the passage.
func Held(passage Bag, texts []Bag) bool {
	for _, text := range texts {
		if share, known := passage.Share(text); known && share >= kept {
			return true
		}
	}
	return false
}

// Success returns the success rate of tasks, 0 to 1, and false if there are none.
func Success(done []bool) (float64, bool) {
	n := 0
	for _, ok := range done {
		if ok {
			n++
		}
	}
	return float64(n) / float64(max(1, len(done))), len(done) > 0
}
