package bank

import (
	"slices"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memoryskill/designer"
)

// Scores of answers.
const (
	ByRecall = designer.ByRecall // share of the answer's words in the found memories; needs no model
	ByAnswer = designer.ByAnswer // F1 of a short answer of a model
)

// WellAnswered is the minimum score of a good answer.
const WellAnswered = 0.5

// Recall returns the share of the words of a correct answer that a text contains, for the correct
// answer with the highest share.
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

// overlap returns the word F1 with the correct answer that has the highest F1.
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
