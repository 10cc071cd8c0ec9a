package skill

import (
	"crypto/sha256"
	"strings"
	"unicode"
)

// MinNameSimilarity is the NameSimilarity from which two skills are suspected duplicates.
const MinNameSimilarity = 0.6

// BodyHash returns equal hashes for contents with the same text: parsed, rendered, and ignoring
// case and white space.
func BodyHash(content string) SHA {
	return sha256.Sum256([]byte(fold(string(RenderBody(ParseBody(content))))))
}

// NameSimilarity returns the share of words that two names have in common, 0–1 (Jaccard). Han
// characters, which have no word boundaries, are compared as adjacent pairs.
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
		from := 0 // start of the current run
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
