// Package lexical turns text into the terms of the keyword index and computes their weights. It is
// pure: the same text gives the same terms for storage and for queries, on every machine.
//
//	lexical.Terms("Jon's plan: get_user_details at r41")
//	// jon, plan, get_user_details, get, user, details, r41, r, 41
//
// A term is stored as a hash of its text. Words are normalized (NFKC, case folding, plural
// and verb endings). Chinese, Japanese and Korean runs become overlapping pairs of characters.
// Identifiers are indexed as a whole and by their parts. English and Chinese stop-words are not
// terms.
package lexical

import (
	"hash/fnv"
	"io"
	"math"
	"slices"
)

// Term is one distinct term of a text.
type Term struct {
	Hash int32 // FNV-1a of the normalized term, below 1,000,000,000
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

// Terms have hashes below firstKey, keys of filters have those from there on: both fit
// the dimensions that a sparse vector of Postgres may have and an int32.
const firstKey = 1_000_000_000

// Hash returns the number of a normalized term, from 0 to 999,999,999.
func Hash(word string) int32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, word)
	return int32(hash.Sum32() % firstKey)
}

// Key returns the number of a field's value, by which the index filters. It differs
// from that of every term: it is 1,000,000,000 or more.
func Key(field, value string) int32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, field+":"+value)
	return int32(firstKey + hash.Sum32()%(math.MaxInt32-firstKey+1))
}
