package openaitest

import (
	"fmt"
	"strings"
	"unicode"
)

// conceptWeight is how much more a word with synonyms counts than another word.
const conceptWeight = 4

// Synonyms makes the words of each group one word in embeddings that counts four times, so that the
// endpoint is close to a model that understands them. Words of Latin letters match as a whole,
// others anywhere. nil removes the groups.
func (s *Server) Synonyms(groups [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synonyms = groups
}

// withConcepts replaces words that have synonyms.
func withConcepts(text string, groups [][]string) string {
	words := map[string]bool{}
	for _, word := range embeddingWords(text) {
		words[word] = true
	}
	lower := strings.ToLower(text)
	var concepts []string
	for i, group := range groups {
		for _, word := range group {
			if latin(word) && !words[word] || !strings.Contains(lower, word) {
				continue
			}
			for range conceptWeight {
				concepts = append(concepts, fmt.Sprintf("concept%d", i))
			}
			break
		}
	}
	return text + " " + strings.Join(concepts, " ")
}

func latin(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxLatin1 }) < 0
}
