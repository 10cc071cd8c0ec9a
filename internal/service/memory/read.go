package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// ListArgs filters a listing.
type ListArgs struct {
	Store string `json:"store,omitempty"` // core or profile; empty for both
	All   bool   `json:"all,omitempty"`   // include removed and quarantined entries
	Limit int    `json:"limit,omitempty"` // 0 means 1,000
}

// Listing is a list of entries in creation order.
type Listing struct {
	Entries []memory.Entry      `json:"entries"`
	Usage   map[memory.Type]int `json:"usage_percent"` // usage of each listed store
}

const listLimit = 1000

// List lists the prompt memories, also those that have moved to long-term memory. Users see the stored text; other
// actors see the text that a prompt shows.
func (k *PromptService) List(ctx context.Context, a agent.Actor, in ListArgs) (Listing, error) {
	types := memory.PromptTypes
	if in.Store != "" {
		t, err := storeOf(in.Store)
		if err != nil {
			return Listing{}, err
		}
		types = []memory.Type{t}
	}
	if in.Limit < 0 {
		return Listing{}, fault.Newf(fault.InvalidArgument, "invalid limit %d: must be 0 or more", in.Limit)
	}
	if in.Limit == 0 {
		in.Limit = listLimit
	}
	out := Listing{Usage: map[memory.Type]int{}}
	err := k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		for _, t := range types {
			active, err := tx.PromptMemory().InPrompt(ctx, []memory.Type{t}, maxEntries)
			if err != nil {
				return err
			}
			runes := 0
			for _, e := range active {
				runes += utf8.RuneCountInString(e.Content)
			}
			out.Usage[t] = memory.Usage(runes, budget(chosen, t))
		}
		out.Entries, err = tx.PromptMemory().Memories(ctx, types, in.All, in.Limit)
		return err
	})
	for i := range out.Entries {
		show(a, &out.Entries[i])
	}
	return out, err
}

// Get reads one entry in any status.
func (k *PromptService) Get(ctx context.Context, a agent.Actor, id string) (e memory.Entry, err error) {
	err = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		e, err = tx.PromptMemory().Memory(ctx, id)
		return err
	})
	show(a, &e)
	return e, err
}

// History lists the revisions of an entry, latest first.
func (k *PromptService) History(ctx context.Context, a agent.Actor, id string, max int) (out []memory.Revision,
	err error) {
	err = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.PromptMemory().Memory(ctx, id); err != nil {
			return err
		}
		out, err = tx.PromptMemory().MemoryHistory(ctx, id, max)
		return err
	})
	if a.Origin != agent.OriginUser {
		for i := range out {
			out[i].Content = Sanitize("memory", id, out[i].Content)
		}
	}
	return out, err
}

func show(a agent.Actor, e *memory.Entry) {
	if a.Origin != agent.OriginUser {
		e.Content = Sanitize(string(e.Type), e.ID, e.Content)
	}
}

// SearchArgs is a search.
type SearchArgs struct {
	Query   string   `json:"query" jsonschema:"a few search words, or the ID of a memory"`
	K       int      `json:"k,omitempty" jsonschema:"maximum number of results"`
	Sources []string `json:"sources,omitempty" jsonschema:"memory: prompt memories and long-term memories; notes: events of a day; chunks: exact text of conversations. Default: memory and notes"`
}

// SearchResult lists the results, best first. It is empty if nothing is similar enough.
type SearchResult struct {
	Results []FoundMemory `json:"results"`
}

// FoundMemory is a search result.
type FoundMemory struct {
	ID        string      `json:"id"`
	Type      memory.Type `json:"type" jsonschema:"core and profile are part of prompts and can be changed with their tools; other types are read-only"`
	Target    string      `json:"target,omitempty" jsonschema:"subject of a long-term memory"`
	WhenToUse string      `json:"when_to_use,omitempty"`
	Content   string      `json:"content"`
	Score     float64     `json:"score"`
	Source    *Source     `json:"source,omitempty" jsonschema:"source messages"`
	Sessions  []string    `json:"ref_memory_ids,omitempty" jsonschema:"sessions from which a long-term memory was extracted, latest last"`
	Tainted   bool        `json:"tainted,omitempty" jsonschema:"the context contained untrusted text when the memory was written"`
	EventTime *time.Time  `json:"event_time,omitempty" jsonschema:"time of the event that the memory describes"`
	UpdatedAt time.Time   `json:"updated_at"`
}

// Source is a range of messages, both ends included.
type Source struct {
	Conversation string `json:"conversation"`
	FromSeq      int    `json:"from_seq"`
	ToSeq        int    `json:"to_seq"`
}

const (
	usualResults = 6
	// MaxResults is the maximum number of results of a search.
	MaxResults = 50
)

// TypeTurn is the type of a search result that is a turn of a conversation.
const TypeTurn memory.Type = "turn"

// sources lists the memory types of each source. Turns have no memory type.
var sources = map[string][]memory.Type{"memory": slices.Concat(memory.PromptTypes, memory.LongTermTypes),
	"notes": {memory.Note}, "chunks": {""}}

// Search finds memories by words and meaning. It returns prompt memories, long-term memories and
// turns in one ranking, and omits results with a low score.
func (k *PromptService) Search(ctx context.Context, a agent.Actor, in SearchArgs) (SearchResult, error) {
	out := SearchResult{Results: []FoundMemory{}}
	if n := utf8.RuneCountInString(in.Query); strings.TrimSpace(in.Query) == "" || n > QueryRunes {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("query has %d characters, want 1 to %d", n, QueryRunes),
			"use a few search words, for example \"favorite food\"")
	}
	if in.K == 0 {
		in.K = usualResults
	}
	if in.K < 1 || in.K > MaxResults {
		return out, fault.Newf(fault.InvalidArgument, "invalid k %d: must be 1 to %d", in.K, MaxResults)
	}
	if len(in.Sources) == 0 {
		in.Sources = []string{"memory", "notes"}
	}
	var types []memory.Type
	for _, s := range in.Sources {
		if len(sources[s]) == 0 {
			return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid source %q", s),
				"use \"memory\", \"notes\" or \"chunks\"")
		}
		types = append(types, sources[s]...)
	}
	kinds := []string{index.KindMemory}
	if slices.Contains(in.Sources, "chunks") {
		kinds = append(kinds, index.KindTurn)
	}
	found, err := k.Finder.Find(ctx, a.Workspace,
		search.Request{Query: in.Query, Kinds: kinds, Types: types, Limit: in.K})
	if err != nil {
		return out, fmt.Errorf("memory_search: %w", err)
	}
	entries, err := k.entries(ctx, a.Workspace, found)
	if err != nil {
		return out, fmt.Errorf("memory_search: %w", err)
	}
	var shown []memory.Entry
	for _, f := range found {
		if f.Kind == index.KindTurn {
			out.Results = append(out.Results, turnResult(a, f))
			continue
		}
		e, exists := entries[f.ID]
		if !exists || e.Status != memory.Active { // removed since the search
			continue
		}
		shown = append(shown, e)
		if a.Origin != agent.OriginUser {
			e = Sanitized(e)
		}
		r := FoundMemory{ID: e.ID, Type: e.Type, Target: e.Target, WhenToUse: e.WhenToUse, Content: e.Content,
			Score: f.Score, Sessions: e.Histories, Tainted: e.Tainted, EventTime: e.EventTime, UpdatedAt: e.UpdatedAt}
		if e.Evidence != nil {
			r.Source = &Source{Conversation: f.Conversation, FromSeq: e.Evidence.FromSeq, ToSeq: e.Evidence.ToSeq}
		}
		out.Results = append(out.Results, r)
	}
	k.recalled(ctx, a, in, shown)
	return out, nil
}

// turnResult returns the search result for a turn.
func turnResult(a agent.Actor, f index.Result) FoundMemory {
	r := FoundMemory{ID: f.ID, Type: TypeTurn, Content: f.Text, Score: f.Score,
		Source: &Source{Conversation: f.Conversation, FromSeq: f.FromSeq, ToSeq: f.ToSeq}}
	if a.Origin != agent.OriginUser {
		r.Content = Sanitize("turn", f.ID, f.Text)
	}
	if f.EventTime != nil {
		r.UpdatedAt = *f.EventTime
	}
	return r
}

// recalled records the returned memories: notes, which may be promoted because of it, and the other memories that the
// run has seen. The least used prompt memories make room for others. Errors are ignored: they only lose a count.
func (k *PromptService) recalled(ctx context.Context, a agent.Actor, in SearchArgs, found []memory.Entry) {
	var notes, seen []int64
	var relevances []float32
	for i, f := range found {
		switch {
		case f.Type != memory.Note && a.Run != "":
			seen = append(seen, f.Key)
		// A reflection must not count its own reads of notes that it may promote.
		case f.Type == memory.Note && !a.Origin.Autonomous():
			notes, relevances = append(notes, f.Key), append(relevances, float32(in.K-min(i, in.K))/float32(in.K))
		}
	}
	slices.Sort(seen) // all runs lock rows in the same order
	if len(notes)+len(seen) == 0 {
		return
	}
	query := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(in.Query), " "))))
	_ = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.LongTerm().Show(ctx, a.Run, a.Op, seen); err != nil || len(notes) == 0 {
			return err
		}
		return tx.Reflections().Recalled(ctx, query, notes, relevances)
	})
}

// entries returns the found memories by ID.
func (k *PromptService) entries(ctx context.Context, ws int64, found []index.Result) (map[string]memory.Entry, error) {
	if len(found) == 0 {
		return nil, nil
	}
	var ids []string
	out := map[string]memory.Entry{}
	for _, f := range found {
		if f.Kind == index.KindMemory {
			ids = append(ids, f.ID)
		}
	}
	return out, k.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		all, err := tx.LongTerm().LongTerm(ctx, ids)
		for _, e := range all {
			out[e.ID] = e
		}
		return err
	})
}
