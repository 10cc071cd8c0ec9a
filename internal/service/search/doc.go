// Package search finds what a workspace knows: documents of one projection,
// ranked by BM25 and by vector distance, fused by reciprocal rank.
package search

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memory"
)

type memoryType = memory.Type

// Kinds of documents.
const (
	KindSkill  = "skill"  // a skill's head version
	KindMemory = "memory" // a remembered statement
	KindTurn   = "turn"   // what a user or an assistant said
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
	Gone    bool      // the owner is not to be found any more; only Kind, Owner and Seq count

	Seq          int        // of a turn, in the conversation that owns it; 0 of all others
	Session      int        // of a turn: the Seq that its sitting began with
	Type, Target string     // of a memory; of a turn, Target is who speaks
	TargetTerms  []int32    // the words of Target
	Asks, Dated  bool       // ends with a question; has words of time
	Conversation *int64     // that it comes from
	EventTime    *time.Time // when it was said or happened; nil means now
}

// Fields of filter keys.
const (
	KeyKind         = "kind"
	KeyType         = "type"
	KeyTarget       = "target"
	KeyConversation = "conversation"
)

// Keys returns the keys by which the index filters d, ascending and distinct.
func (d Doc) Keys() []int32 {
	keys := []int32{lexical.Key(KeyKind, d.Kind), lexical.Key(KeyType, d.Type)}
	if d.Target != "" {
		keys = append(keys, lexical.Key(KeyTarget, d.Target))
	}
	if d.Conversation != nil {
		keys = append(keys, lexical.Key(KeyConversation, strconv.FormatInt(*d.Conversation, 10)))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// mostTerms is how many non-zero values a sparse vector of Postgres may have.
const mostTerms = 16_000

// NewDoc splits text into terms. Of more than 16,000 distinct terms the index holds
// the most frequent ones.
func NewDoc(kind string, owner int64, status, text string) Doc {
	d := Doc{Kind: kind, Owner: owner, Status: status, Text: text, Asks: lexical.Asks(text), Dated: lexical.Dated(text)}
	terms := lexical.Terms(text)
	length := lexical.Length(terms)
	if len(terms) > mostTerms {
		slices.SortStableFunc(terms, func(a, b lexical.Term) int { return cmp.Compare(b.TF, a.TF) })
		terms = terms[:mostTerms]
		slices.SortFunc(terms, func(a, b lexical.Term) int { return cmp.Compare(a.Hash, b.Hash) })
	}
	for _, t := range terms {
		d.Terms = append(d.Terms, t.Hash)
		d.Weights = append(d.Weights, lexical.Weight(t.TF, length))
	}
	return d
}

// About says whom d is about, or who says it.
func (d Doc) About(name string) Doc {
	d.Target, d.TargetTerms = name, hashes(name)
	return d
}

func hashes(text string) []int32 {
	out := []int32{}
	for _, t := range lexical.Terms(text) {
		out = append(out, t.Hash)
	}
	return out
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
