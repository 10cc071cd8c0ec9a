// Package search finds what a workspace knows: documents of one projection,
// ranked by BM25 over postings and by vector distance, fused by reciprocal rank.
package search

import (
	"cairn/internal/search/lexical"
)

// Kinds of documents.
const (
	KindSkill  = "skill"  // a skill's head version
	KindMemory = "memory" // a remembered statement
	KindChunk  = "chunk"  // a part of a session
)

// Doc is a document ready to be indexed.
type Doc struct {
	Kind    string
	Owner   int64  // the row that it stands for
	Status  string // only documents of wanted states are found
	Text    string
	Terms   []int32   // hashes, ascending: every writer takes rows in one order
	Weights []float32 // BM25 term-frequency halves, one a term
	Gone    bool      // the owner is not to be found any more; only Kind and Owner count
}

// NewDoc tokenises text.
func NewDoc(kind string, owner int64, status, text string) Doc {
	d := Doc{Kind: kind, Owner: owner, Status: status, Text: text}
	terms := lexical.Terms(text)
	length := 0
	for _, t := range terms {
		length += t.TF
	}
	for _, t := range terms {
		d.Terms = append(d.Terms, t.Hash)
		d.Weights = append(d.Weights, lexical.Weight(t.TF, length))
	}
	return d
}

// Query is what is looked for.
type Query struct {
	Kind   string
	States []string
	Terms  []int32
	Vector []float32 // empty when there is no embedder at hand
	Space  int16     // of Vector
	Limit  int
}

// Hit is a ranked document.
type Hit struct {
	Doc     int64
	Owner   int64
	Score   float64 // reciprocal ranks added up
	Lexical float64 // BM25
	Hits    int     // query terms that the document holds
	Terms   int     // query terms that say something in this workspace
	Cosine  float64
}

// relevantShare is the share of a query's telling terms that a document must
// hold to count as found by words alone.
const relevantShare = 0.5

// Relevant tells whether words alone make h an answer: an unrelated query, whose
// best document still has some rank, returns nothing.
func Relevant(h Hit) bool {
	return h.Hits > 0 && float64(h.Hits) >= relevantShare*float64(h.Terms) && (h.Hits > 1 || h.Terms == 1)
}
