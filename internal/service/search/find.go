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

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/search/rank"
	"cairn/internal/domain/skill"
)

// Limits of a request.
const (
	MostFound    = 100
	QueryRunes   = 4000
	MostContext  = 10
	defaultLimit = 10
)

// Kinds are all kinds of documents.
var Kinds = []string{KindTurn, KindMemory, KindSkill}

// Types are all types of memories.
var Types = []memory.Type{memory.Core, memory.Profile, memory.Note, "identity", "personal", "procedural", "tool",
	"summary"}

// Request is a search request. Empty fields filter nothing.
type Request struct {
	Query         string
	Kinds         []string      // values of Kinds
	Types         []memory.Type // memory types; the empty type selects documents that are not memories
	Targets       []string      // targets of memories and speakers of turns
	After, Before time.Time     // time of the message or event: at or after After, and before Before
	Conversation  string        // external ID: its turns and the memories from it
	Limit         int           // 1 to MostFound; 0 means 10
	Context       int           // turns shown before and after each turn, 0 to MostContext
	Profile       rank.Profile  // parameters of this search only

	// Where must hold for memories, whose kind and types the request must name. If it is Selective, the
	// memories that it selects are read before the search, else those that were found are checked.
	Where     *memory.Condition
	Selective bool

	Explain bool // describe the search and every score
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

// Find ranks turns, memories and skills together, best match first. An exact name match comes
// first. Results below the relevance threshold are left out. Without an embedder, only words are
// compared.
func (f Finder) Find(ctx context.Context, ws int64, r Request) ([]Result, error) {
	out, err := f.Search(ctx, ws, r)
	return out.Results, err
}

// Search is Find with a description of the search.
func (f Finder) Search(ctx context.Context, ws int64, r Request) (out Response, err error) {
	if err := r.check(); err != nil {
		return out, err
	}
	r.Limit = cmp.Or(r.Limit, defaultLimit)
	r.Targets = spellings(r.Targets)
	var q Query
	f.fill(ctx, ws, &q, r.Query)
	err = f.Index.Read(ctx, ws, func(ctx context.Context, index Reader) (err error) {
		out, err = f.read(ctx, index, r, q)
		return err
	})
	if err == nil && !out.Lexical.Exact {
		metrics.InexactSearch()
	}
	return out, err
}

// spellings adds the stored form of the IDs of targets. The names of speakers are stored as they were sent.
func spellings(targets []string) []string {
	out := slices.Clone(targets)
	for _, id := range targets {
		if stored := norm.NFC.String(id); !slices.Contains(out, stored) {
			out = append(out, stored)
		}
	}
	return out
}

func (r Request) check() error {
	if strings.TrimSpace(r.Query) == "" {
		return fault.New(fault.InvalidArgument, "the query is empty", "search for a few words")
	}
	if n := utf8.RuneCountInString(r.Query); n > QueryRunes {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("the query has %d characters, at most %d are allowed", n, QueryRunes), "search for a few words")
	}
	if r.Limit < 0 || r.Limit > MostFound {
		return fault.Newf(fault.InvalidArgument, "invalid limit %d: must be 1 to %d", r.Limit, MostFound)
	}
	if r.Context < 0 || r.Context > MostContext {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid context %d", r.Context),
			fmt.Sprintf("use 0 to %d turns", MostContext))
	}
	for _, k := range r.Kinds {
		if !slices.Contains(Kinds, k) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid kind %q", k),
				"use "+strings.Join(Kinds, ", ")+" or all")
		}
	}
	for _, t := range r.Types {
		if t != "" && !slices.Contains(Types, t) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory type %q", t),
				"use one of "+fmt.Sprint(Types))
		}
	}
	if !r.After.IsZero() && !r.Before.IsZero() && !r.After.Before(r.Before) {
		return fault.New(fault.InvalidArgument, "after is not earlier than before", "set after to the earlier time")
	}
	return r.Profile.Validate()
}

// namedBy returns the names that query may match exactly.
func namedBy(query string) NameQuery {
	query = strings.TrimSpace(query)
	n := NameQuery{Skill: skill.Canonical(query), Seq: -1}
	if len(strings.Fields(query)) == 1 { // IDs have no spaces
		n.Memory = strings.ToLower(query)
	}
	if at := strings.LastIndexByte(query, '#'); at > 0 {
		if seq, err := strconv.ParseInt(query[at+1:], 10, 32); err == nil {
			n.Conversation, n.Seq = query[:at], int(seq)
		}
	}
	return n
}

// TurnID returns the ID of a turn.
func TurnID(conversation string, seq int) string { return fmt.Sprintf("%s#%d", conversation, seq) }
