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
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/search"
	"cairn/internal/domain/skill"
)

// Limits of a request.
const (
	MaxFound     = 100
	QueryRunes   = 4000
	MaxContext   = 10
	defaultLimit = 10
)

// Kinds are all kinds of documents.
var Kinds = []string{index.KindTurn, index.KindMemory, index.KindSkill}

// Types are all types of memories.
var Types = []memory.Type{memory.Core, memory.Profile, memory.Note, "identity", "personal", "procedural", "tool",
	"summary"}

// Request is a search request. Empty fields filter nothing.
type Request struct {
	Query         string
	Kinds         []string       // values of Kinds
	Types         []memory.Type  // memory types; the empty type selects documents that are not memories
	Targets       []string       // targets of memories and speakers of turns
	After, Before time.Time      // time of the message or event: at or after After, and before Before
	Conversation  string         // external ID: its turns and the memories from it
	Limit         int            // 1 to MaxFound; 0 means 10
	Context       int            // turns shown before and after each turn, 0 to MaxContext
	Profile       search.Profile // parameters of this search only

	// Where must hold for memories, whose kind and types the request must name. If it is Selective, the
	// memories that it selects are read before the search, else those that were found are checked.
	Where     *memory.Condition
	Selective bool

	Explain bool // describe the search and every score
}

// Find ranks turns, memories and skills together, best match first. An exact name match comes
// first. Results below the relevance threshold are left out. Without an embedder, only words are
// compared.
func (f Finder) Find(ctx context.Context, ws int64, r Request) ([]index.Result, error) {
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
	var q index.Query
	f.fill(ctx, ws, &q, r.Query)
	err = f.Index.Read(ctx, ws, func(ctx context.Context, index index.Reader) (err error) {
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
	if r.Limit < 0 || r.Limit > MaxFound {
		return fault.Newf(fault.InvalidArgument, "invalid limit %d: must be 1 to %d", r.Limit, MaxFound)
	}
	if r.Context < 0 || r.Context > MaxContext {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid context %d", r.Context),
			fmt.Sprintf("use 0 to %d turns", MaxContext))
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
func namedBy(query string) index.NameQuery {
	query = strings.TrimSpace(query)
	n := index.NameQuery{Skill: skill.Canonical(query), Seq: -1}
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
