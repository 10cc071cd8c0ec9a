package skill

import (
	"crypto/sha256"
	"strings"
	"unicode"
)

// MinNameSimilarity is the NameSimilarity from which on two skills are
// suspected to be one (spec/procedural-memory.md §1.5).
const MinNameSimilarity = 0.6

// BodyHash is equal for contents that say the same in the same words: parsed,
// rendered, and without regard to case and white space.
func BodyHash(content string) SHA {
	return sha256.Sum256([]byte(fold(string(RenderBody(ParseBody(content))))))
}

// NameSimilarity is the share of words that two names have in common, 0–1
// (Jaccard). Han characters, which join words without a mark, count as pairs of
// neighbours.
func NameSimilarity(a, b string) float64 {
	words, others := nameWords(a), nameWords(b)
	shared := 0
	for word := range words {
		if others[word] {
			shared++
		}
	}
	union := len(words) + len(others) - shared
	if union == 0 {
		return 0
	}
	return float64(shared) / float64(union)
}

func nameWords(name string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.SplitSeq(Canonical(name), "-") {
		runes := []rune(word)
		from := 0 // of the run of one kind
		for i := range runes {
			if i+1 < len(runes) && unicode.Is(unicode.Han, runes[i]) == unicode.Is(unicode.Han, runes[i+1]) {
				continue
			}
			run := runes[from : i+1]
			from = i + 1
			if !unicode.Is(unicode.Han, run[0]) || len(run) == 1 {
				words[string(run)] = true
				continue
			}
			for j := range len(run) - 1 {
				words[string(run[j:j+2])] = true
			}
		}
	}
	return words
}
