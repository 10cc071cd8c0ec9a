package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
)

// Bounds of a request.
const (
	MostFound    = 100
	QueryRunes   = 4000
	defaultLimit = 10
)

// Kinds are all kinds of documents.
var Kinds = []string{KindTurn, KindMemory, KindSkill}

// Types are all types of memories.
var Types = []memory.Type{memory.Core, memory.Profile, memory.Note, "identity", "personal", "procedural", "tool",
	"summary"}

// Request says what is looked for. What is left empty filters nothing.
type Request struct {
	Query         string
	Kinds         []string      // of Kinds
	Types         []memory.Type // of memories; the empty one is what has none, as all else
	Targets       []string      // whom memories are about, who says turns
	After, Before time.Time     // when it was said or happened: from After on, and before Before
	Conversation  string        // external id: its turns and what was remembered from it
	Limit         int           // 1 to MostFound; 0 means 10
}

// Result is a document that answers a query.
type Result struct {
	Kind         string     `json:"kind"`
	ID           string     `json:"id"` // of a memory; of a skill its name; of a turn conversation#seq
	Text         string     `json:"text"`
	Score        float64    `json:"score"`  // only the order means something, and only within one search
	Cosine       float64    `json:"cosine"` // 0 when the vector was not among the nearest
	Exact        bool       `json:"exact,omitempty"`
	Also         []string   `json:"also,omitempty" doc:"IDs of near duplicates that are not listed themselves"`
	Type         string     `json:"type,omitempty"`
	Target       string     `json:"target,omitempty"` // whom a memory is about, who says a turn
	EventTime    *time.Time `json:"event_time,omitempty"`
	Conversation string     `json:"conversation,omitempty"`
	FromSeq      int        `json:"from_seq"` // messages of Conversation that it is or comes from, both ends included
	ToSeq        int        `json:"to_seq"`
}

// NameQuery is what the query may be the exact name of.
type NameQuery struct {
	Skill        string // canonical name
	Memory       string // id
	Conversation string // with Seq, a turn
	Seq          int
}

// Find ranks turns, memories and skills together, best first. Documents that the
// query names exactly come first. Documents below the relevance floor are left out.
// If the embedder fails, words alone decide.
func (f Finder) Find(ctx context.Context, ws int64, r Request) ([]Result, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	r.Limit = cmp.Or(r.Limit, defaultLimit)
	var q Query
	f.fill(ctx, &q, r.Query)
	var found []Result
	err := f.Index.Read(ctx, ws, func(ctx context.Context, index Reader) (err error) {
		found, err = f.read(ctx, index, r, q)
		return err
	})
	return found, err
}

func (r Request) check() error {
	if n := utf8.RuneCountInString(r.Query); n == 0 || n > QueryRunes || strings.TrimSpace(r.Query) == "" {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("a query has 1 to %d characters, this one has %d", QueryRunes, n), "look for a few words")
	}
	if r.Limit < 0 || r.Limit > MostFound {
		return fault.Newf(fault.InvalidArgument, "limit is %d, and must be 1 to %d", r.Limit, MostFound)
	}
	for _, k := range r.Kinds {
		if !slices.Contains(Kinds, k) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no kind %q", k),
				"use "+strings.Join(Kinds, ", "))
		}
	}
	for _, t := range r.Types {
		if t != "" && !slices.Contains(Types, t) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no type %q of memories", t),
				"use one of "+fmt.Sprint(Types))
		}
	}
	if !r.After.IsZero() && !r.Before.IsZero() && !r.After.Before(r.Before) {
		return fault.New(fault.InvalidArgument, "after is not before before", "after is the earlier of the two times")
	}
	return nil
}

// namedBy reads what query may be the exact name of.
func namedBy(query string) NameQuery {
	query = strings.TrimSpace(query)
	n := NameQuery{Skill: skill.Canonical(query), Memory: strings.ToLower(query), Seq: -1}
	if at := strings.LastIndexByte(query, '#'); at > 0 {
		if seq, err := strconv.ParseInt(query[at+1:], 10, 32); err == nil {
			n.Conversation, n.Seq = query[:at], int(seq)
		}
	}
	return n
}

// TurnID is what a turn is called.
func TurnID(conversation string, seq int) string { return fmt.Sprintf("%s#%d", conversation, seq) }
