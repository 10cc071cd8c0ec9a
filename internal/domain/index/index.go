package index

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
	"cairn/internal/domain/skill"
)

// Statistics are the counts behind the weights of words.
type Statistics struct {
	Profile search.Profile // parameters of searches, from the settings of the workspace
	Docs    int            // of the workspace
	Terms   map[int32]TermStatistics
}

// TermStatistics are the counts of one term.
type TermStatistics struct {
	DF        int     // documents that contain it
	Speakers  int     // turns whose speaker has it in the name
	MaxWeight float64 // highest weight that a document ever had
}

// CandidateQuery asks for the Limit documents with the highest scores that hold all
// keys of at least one of Sets; without Sets, of the whole workspace.
type CandidateQuery struct {
	Sets          [][]int32
	Words         map[int32]float32 // weight in the query by term; nil scores 0 and returns every such document
	After, Before time.Time         // of the event: from After on, and before Before; zero for any
	Limit         int
}

// NearestQuery asks for the Limit closest documents among Docs; nil means all.
type NearestQuery struct {
	Docs   []int64
	Vector []float32
	Space  int16
	Limit  int
}

// Neighbor is a document with its cosine similarity to a query.
type Neighbor struct {
	Doc    int64
	Cosine float64
}

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

// maxTerms is how many non-zero values a sparse vector of Postgres may have.
const maxTerms = 16_000

// NewDoc splits text into terms. Of more than 16,000 distinct terms the index holds
// the most frequent ones.
func NewDoc(kind string, owner int64, status, text string) Doc {
	d := Doc{Kind: kind, Owner: owner, Status: status, Text: text, Asks: lexical.Asks(text), Dated: lexical.Dated(text)}
	terms := lexical.Terms(text)
	length := lexical.Length(terms)
	if len(terms) > maxTerms {
		slices.SortStableFunc(terms, func(a, b lexical.Term) int { return cmp.Compare(b.TF, a.TF) })
		terms = terms[:maxTerms]
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
	d.Target, d.TargetTerms = name, Hashes(name)
	return d
}

// Hashes returns the hashes of the terms of a text.
func Hashes(text string) []int32 {
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

// ScoreExplanation is how a result got its score.
type ScoreExplanation struct {
	Lexical float64      `json:"lexical" doc:"BM25 score over all words of the query."`
	Covered float64      `json:"covered" doc:"Share of the query's idf that the document contains."`
	Parts   search.Parts `json:"parts" doc:"Addends of the score."`
}

// Result is a found document.
type Result struct {
	Kind         string            `json:"kind"`
	ID           string            `json:"id"` // memory ID, skill name, or conversation#seq of a turn
	Text         string            `json:"text"`
	Score        float64           `json:"score"`  // meaningful only as the order within one search
	Cosine       float64           `json:"cosine"` // cosine similarity, 0 if not among the nearest vectors
	Exact        bool              `json:"exact,omitempty"`
	Also         []string          `json:"also,omitempty" doc:"IDs of near duplicates that are not listed themselves"`
	Context      []Result          `json:"context,omitempty" doc:"Of a turn, the turns around it, if the request asks for them; also summaries of the messages that the result comes from."`
	Explanation  *ScoreExplanation `json:"explanation,omitempty" doc:"How the result got its score, if the request asks for it."`
	Type         string            `json:"type,omitempty"`
	Target       string            `json:"target,omitempty"` // target of a memory, speaker of a turn
	EventTime    *time.Time        `json:"event_time,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	FromSeq      int               `json:"from_seq"` // source messages in Conversation, inclusive
	ToSeq        int               `json:"to_seq"`
}

// NameQuery holds names that the query may match exactly.
type NameQuery struct {
	Skill        string // canonical name
	Memory       string // ID
	Conversation string // with Seq, a turn
	Seq          int
}

// TurnID returns the ID of a turn.
func TurnID(conversation string, seq int) string { return fmt.Sprintf("%s#%d", conversation, seq) }

// Covers reports whether other comes from messages that s comes from, too.
func (s Result) Covers(other Result) bool {
	return s.Conversation != "" && s.Conversation == other.Conversation && other.Kind != KindSkill &&
		other.FromSeq <= s.ToSeq && other.ToSeq >= s.FromSeq
}

// SkillHit is a ranked skill.
type SkillHit struct {
	Hit
	Head  skill.Head
	Named bool // exact name match
}
