package score

import "cairn/internal/domain/lexical"

// kept is the share of a passage's content words from which on a text still holds
// the passage. By the passage's id alone a store that keeps four words of
// everything would look best.
const kept = 0.6

// Bag is a set of content words.
type Bag map[string]bool

// Content are the content words of texts.
func Content(texts ...string) Bag {
	out := Bag{}
	for _, text := range texts {
		for _, w := range lexical.Words(text) {
			out[w] = true
		}
	}
	return out
}

// Share is the part of b that other has, and false of an empty b.
func (b Bag) Share(other Bag) (float64, bool) {
	found := 0
	for w := range b {
		if other[w] {
			found++
		}
	}
	return float64(found) / float64(max(1, len(b))), len(b) > 0
}

// And are the words that both have.
func (b Bag) And(other Bag) Bag {
	out := Bag{}
	for w := range b {
		if other[w] {
			out[w] = true
		}
	}
	return out
}

// Held tells whether one of the texts keeps the passage.
func Held(passage Bag, texts []Bag) bool {
	for _, text := range texts {
		if share, known := passage.Share(text); known && share >= kept {
			return true
		}
	}
	return false
}

// Success is the rate of tasks that succeeded, 0–1; false without tasks.
func Success(done []bool) (float64, bool) {
	n := 0
	for _, ok := range done {
		if ok {
			n++
		}
	}
	return float64(n) / float64(max(1, len(done))), len(done) > 0
}
