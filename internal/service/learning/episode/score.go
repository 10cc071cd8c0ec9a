package episode

import (
	"slices"

	"cairn/internal/domain/lexical"
)

// How answers are scored.
const (
	ByRecall = "recall" // share of the answer's words in the memories that are found: asks no model
	ByAnswer = "answer" // F1 of a model's short answer
)

// WellAnswered is the score from which a question counts as answered.
const WellAnswered = 0.5

// Recall is the share of the words of a right answer that a text has, of the
// answer that fares best.
func Recall(gold []string, text string) (best float64) {
	has := map[string]bool{}
	for _, w := range lexical.Words(text) {
		has[w] = true
	}
	for _, g := range gold {
		words, found := lexical.Words(g), 0
		for _, w := range words {
			if has[w] {
				found++
			}
		}
		if len(words) > 0 {
			best = max(best, float64(found)/float64(len(words)))
		}
	}
	return best
}

// overlap is F1 over words with the right answer that fares best.
func overlap(gold []string, prediction string) (best float64) {
	said := lexical.Words(prediction)
	for _, g := range gold {
		left, same := lexical.Words(g), 0
		n := len(left)
		for _, w := range said {
			if i := slices.Index(left, w); i >= 0 {
				left, same = slices.Delete(left, i, i+1), same+1
			}
		}
		if same > 0 {
			best = max(best, 2*float64(same)/float64(n+len(said)))
		}
	}
	return best
}
