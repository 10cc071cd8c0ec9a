// Package lexical turns text into the terms of the keyword index and weighs
// them. It is pure: the same text gives the same terms on every machine, when
// it is stored and when it is asked for.
//
//	lexical.Terms("Jon's plan: get_user_details at r41")
//	// jon, plan, get_user_details, get, user, details, r41, r, 41
//
// A term is stored as the 32-bit hash of its text. Words are normalised (NFKC,
// case folding, plural and verb endings); Chinese, Japanese and Korean runs
// become overlapping pairs of characters; identifiers are found whole and by
// their parts. Stop-words of English and Chinese are not terms.
package lexical

import (
	"hash/fnv"
	"io"
	"slices"
)

// Term is one distinct term of a text.
type Term struct {
	Hash int32 // 32-bit FNV-1a of the normalised term
	TF   int   // how often the text has it, at least 1
}

// Terms gives the distinct terms of text by ascending hash. Upserts in this
// order cannot deadlock each other.
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

// Length is the length of a document in terms, as Weight wants it.
func Length(terms []Term) int {
	length := 0
	for _, term := range terms {
		length += term.TF
	}
	return length
}

// Hash is the number of a normalised term, as Words gives them.
func Hash(word string) int32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, word)
	return int32(hash.Sum32()) // the sign bit is one more bit of hash
}
