// Package lexical turns text into the terms of the keyword index and computes their weights. It is
// pure: the same text gives the same terms for storage and for queries, on every machine.
//
//	lexical.Terms("Jon's plan: get_user_details at r41")
//	// jon, plan, get_user_details, get, user, details, r41, r, 41
//
// A term is stored as the 32-bit hash of its text. Words are normalized (NFKC, case folding, plural
// and verb endings). Chinese, Japanese and Korean runs become overlapping pairs of characters.
// Identifiers are indexed as a whole and by their parts. English and Chinese stop-words are not
// terms.
package lexical

import (
	"hash/fnv"
	"io"
	"slices"
)

// Term is one distinct term of a text.
type Term struct {
	Hash int32 // 32-bit FNV-1a of the normalized term
	TF   int   // number of occurrences, at least 1
}

// Terms returns the distinct terms of text by ascending hash. Upserts in this order cannot deadlock
// each other.
func Terms(text string) []Term {
	counts := map[int32]int{}
	for _, word := range Words(text) {
		counts[Hash(word)]++
	}
	terms := make([]Term, 0, len(counts))
	for hash, count := range counts {
		terms = append(terms, Term{Hash: hash, TF: count})
	}
	slices.SortFunc(terms, func(a, b Term) int {
		if a.Hash < b.Hash {
			return -1
		}
		return 1 // hashes are distinct
	})
	return terms
}

// Length returns the length of a document in terms, for Weight.
func Length(terms []Term) int {
	length := 0
	for _, term := range terms {
		length += term.TF
	}
	return length
}

// Hash returns the hash of a normalized term, as Words returns it.
func Hash(word string) int32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, word)
	return int32(hash.Sum32()) // the conversion keeps all 32 bits
}
