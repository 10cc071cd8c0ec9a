package evaluation

import (
	"regexp"
	"slices"
	"strings"
)

// Failed is the answer text if the endpoint failed.
const Failed = "[error]"

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

var articles = regexp.MustCompile(`\b(?:a|an|the|and)\b`)

// Normalize normalizes answers for comparison: lower case, without commas, ASCII punctuation and
// articles, one space between words. Other characters are kept.
func Normalize(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, ",", ""))
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(articles.ReplaceAllString(text, " ")), " ")
}

// Words returns the stems of the normalized words of a text.
func Words(text string) []string {
	words := strings.Fields(Normalize(text))
	for i, w := range words {
		words[i] = Stem(w)
	}
	return words
}

// F1 returns the harmonic mean of precision and recall over words with their counts, 0 to 1. It is
// 0 if no word is shared, also for two empty texts.
func F1(prediction, gold string) float64 {
	if prediction == Failed {
		return 0
	}
	said, left := Words(prediction), Words(gold)
	n, same := len(left), 0
	for _, w := range said {
		if i := slices.Index(left, w); i >= 0 {
			left, same = slices.Delete(left, i, i+1), same+1
		}
	}
	if same == 0 {
		return 0
	}
	return 2 * float64(same) / float64(n+len(said))
}

// F1Any returns the F1 with the correct answer that has the highest F1.
func F1Any(prediction string, gold []string) (best float64) {
	for _, g := range gold {
		best = max(best, F1(prediction, g))
	}
	return best
}

// F1Parts scores answers that are comma-separated lists. It is the mean, over the parts of the
// correct answer, of the best F1 of a predicted part.
func F1Parts(prediction, gold string) float64 {
	parts, sum := strings.Split(gold, ","), 0.0
	for _, g := range parts {
		best := 0.0
		for p := range strings.SplitSeq(prediction, ",") {
			best = max(best, F1(strings.TrimSpace(p), strings.TrimSpace(g)))
		}
		sum += best
	}
	return sum / float64(len(parts))
}
