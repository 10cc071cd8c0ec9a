// Package search searches a workspace: turns, memories and skills are indexed as documents and
// ranked by BM25 and by vector distance. Reciprocal rank fusion joins both rankings.
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
	KindSkill  = "skill"  // head version of a skill
	KindMemory = "memory" // memory
	KindTurn   = "turn"   // message of a user or an assistant
	KindChunk  = "chunk"  // part of a session
)

// Doc is a document to index.
type Doc struct {
	Kind    string
	Owner   int64  // ID of the indexed row
	Status  string // searches select documents by status
	Text    string
	Terms   []int32   // hashes in ascending order, so that all writers lock rows in the same order
	Weights []float32 // BM25 term-frequency factors, one per term
	Gone    bool      // removes the document; only Kind, Owner and Seq are used
	New     bool      // the owner has no document yet, which saves statements

	Seq          int        // of a turn: sequence number in its conversation; 0 for other kinds
	Session      int        // of a turn: Seq of the first message of its session
	Type, Target string     // type and target of a memory; for a turn, Target is the speaker
	TargetTerms  []int32    // terms of Target
	Asks, Dated  bool       // ends with a question; contains time words
	Conversation *int64     // source conversation
	EventTime    *time.Time // time of the message or event; nil means now
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

// About sets the target or speaker of d.
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

// Query is a search query.
type Query struct {
	Kind   string
	States []string
	Terms  []int32
	Vector []float32 // empty if no embedder is available
	Space  int16     // vector space of Vector
	Limit  int
}

// Hit is a ranked document.
type Hit struct {
	Doc     int64
	Owner   int64
	Score   float64 // sum of reciprocal ranks
	Lexical float64 // BM25
	Hits    int     // number of query terms in the document
	Terms   int     // number of discriminating query terms in this workspace
	Cosine  float64
}

// relevantShare is the minimum share of discriminating query terms for a match by words alone.
const relevantShare = 0.5

// Relevant reports whether h matches by words alone. Without this check, an unrelated query returns
// its best-ranked document.
func Relevant(h Hit) bool {
	return h.Hits > 0 && float64(h.Hits) >= relevantShare*float64(h.Terms) && (h.Hits > 1 || h.Terms == 1)
}
