package promptmemory

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
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/search"
)

// ListArgs choose what is listed.
type ListArgs struct {
	Store string `json:"store,omitempty"` // core or profile; empty for both
	All   bool   `json:"all,omitempty"`   // removed and quarantined ones, too
	Limit int    `json:"limit,omitempty"` // 0 means 1,000
}

// Listing is what is remembered, in the order of its making.
type Listing struct {
	Entries []memory.Entry      `json:"entries"`
	Usage   map[memory.Type]int `json:"usage_percent"` // of the prompt memories that were listed
}

const listLimit = 1000

// List lists the prompt memories. A person sees what is stored; anybody else
// what a prompt would show.
func (k *Service) List(ctx context.Context, a agent.Actor, in ListArgs) (Listing, error) {
	types := memory.PromptTypes
	if in.Store != "" {
		t, err := storeOf(in.Store)
		if err != nil {
			return Listing{}, err
		}
		types = []memory.Type{t}
	}
	if in.Limit < 0 {
		return Listing{}, fault.Newf(fault.InvalidArgument, "limit is %d, and cannot be below 0", in.Limit)
	}
	if in.Limit == 0 {
		in.Limit = listLimit
	}
	out := Listing{Usage: map[memory.Type]int{}}
	err := k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		chosen, err := tx.Workspace().Settings(ctx)
		if err != nil {
			return err
		}
		for _, t := range types {
			active, err := tx.Memories().Memories(ctx, []memory.Type{t}, false, maxEntries)
			if err != nil {
				return err
			}
			runes := 0
			for _, e := range active {
				runes += utf8.RuneCountInString(e.Content)
			}
			out.Usage[t] = memory.Usage(runes, budget(chosen, t))
		}
		out.Entries, err = tx.Memories().Memories(ctx, types, in.All, in.Limit)
		return err
	})
	for i := range out.Entries {
		show(a, &out.Entries[i])
	}
	return out, err
}

// Get reads one entry, whatever its status.
func (k *Service) Get(ctx context.Context, a agent.Actor, id string) (e memory.Entry, err error) {
	err = k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		e, err = tx.Memories().Memory(ctx, id)
		return err
	})
	show(a, &e)
	return e, err
}

// History lists what an entry has said, the latest first.
func (k *Service) History(ctx context.Context, a agent.Actor, id string, max int) (out []memory.Revision, err error) {
	err = k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Memories().Memory(ctx, id); err != nil {
			return err
		}
		out, err = tx.Memories().MemoryHistory(ctx, id, max)
		return err
	})
	if a.Origin != agent.OriginUser {
		for i := range out {
			out[i].Content = memorywrite.Sanitize("memory", id, out[i].Content)
		}
	}
	return out, err
}

func show(a agent.Actor, e *memory.Entry) {
	if a.Origin != agent.OriginUser {
		e.Content = memorywrite.Sanitize(string(e.Type), e.ID, e.Content)
	}
}

// SearchArgs look something up.
type SearchArgs struct {
	Query   string   `json:"query" jsonschema:"what is looked for, in a few words, or the id of a memory"`
	K       int      `json:"k,omitempty" jsonschema:"how many at most"`
	Sources []string `json:"sources,omitempty" jsonschema:"memory for lasting facts, prompt memories and long-term memories alike, notes for what happened on a day, chunks for what was said word for word; memory and notes when left out"`
}

// SearchResult has the best first. It is empty when nothing is near enough.
type SearchResult struct {
	Results []FoundMemory `json:"results"`
}

// FoundMemory is a memory that answers a query.
type FoundMemory struct {
	ID        string      `json:"id"`
	Type      memory.Type `json:"type" jsonschema:"core and profile stand in prompts, and their tools change them; all others are looked up only"`
	Target    string      `json:"target,omitempty" jsonschema:"who or what a long-term memory is about"`
	WhenToUse string      `json:"when_to_use,omitempty"`
	Content   string      `json:"content"`
	Score     float64     `json:"score"`
	Source    *Source     `json:"source,omitempty" jsonschema:"messages that it comes from"`
	Sessions  []string    `json:"ref_memory_ids,omitempty" jsonschema:"sessions that a long-term memory was drawn from, the latest last"`
	Tainted   bool        `json:"tainted,omitempty" jsonschema:"untrusted text was in view when it was written"`
	EventTime *time.Time  `json:"event_time,omitempty" jsonschema:"when what it says happened"`
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
	// MostResults bounds a search.
	MostResults = 50
)

// Said is the type of a result that is a turn of a conversation.
const Said memory.Type = "turn"

// sources are the types of memories that each source has; what was said has none.
var sources = map[string][]memory.Type{"memory": slices.Concat(memory.PromptTypes, memory.LongTermTypes),
	"notes": {memory.Note}, "chunks": {""}}

// Search finds memories by words and meaning, prompt memories, long-term memories
// and what was said in one order. What has little to do with the query is left out.
func (k *Service) Search(ctx context.Context, a agent.Actor, in SearchArgs) (SearchResult, error) {
	out := SearchResult{Results: []FoundMemory{}}
	if n := utf8.RuneCountInString(in.Query); strings.TrimSpace(in.Query) == "" || n > memorywrite.QueryRunes {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("a query has 1 to %d characters, this one has %d", memorywrite.QueryRunes, n),
			"look for a few words")
	}
	if in.K == 0 {
		in.K = usualResults
	}
	if in.K < 1 || in.K > MostResults {
		return out, fault.Newf(fault.InvalidArgument, "k is %d, and must be 1 to %d", in.K, MostResults)
	}
	if len(in.Sources) == 0 {
		in.Sources = []string{"memory", "notes"}
	}
	var types []memory.Type
	for _, s := range in.Sources {
		if len(sources[s]) == 0 {
			return out, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no source %q", s),
				"use memory, notes or chunks")
		}
		types = append(types, sources[s]...)
	}
	kinds := []string{search.KindMemory}
	if slices.Contains(in.Sources, "chunks") {
		kinds = append(kinds, search.KindTurn)
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
		if f.Kind == search.KindTurn {
			out.Results = append(out.Results, said(a, f))
			continue
		}
		e, there := entries[f.ID]
		if !there || e.Status != memory.Active { // gone since it was found
			continue
		}
		shown = append(shown, e)
		if a.Origin != agent.OriginUser {
			e = longterm.Sanitised(e)
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

// said is a turn that answers a query.
func said(a agent.Actor, f search.Result) FoundMemory {
	r := FoundMemory{ID: f.ID, Type: Said, Content: f.Text, Score: f.Score,
		Source: &Source{Conversation: f.Conversation, FromSeq: f.FromSeq, ToSeq: f.ToSeq}}
	if a.Origin != agent.OriginUser {
		r.Content = memorywrite.Sanitize("turn", f.ID, f.Text)
	}
	if f.EventTime != nil {
		r.UpdatedAt = *f.EventTime
	}
	return r
}

// recalled counts what somebody has got back: notes, which may be promoted for it,
// and long-term memories, which an answer of the run may have come from. A search
// does not fail for it: it is counted next time.
func (k *Service) recalled(ctx context.Context, a agent.Actor, in SearchArgs, found []memory.Entry) {
	var notes, longTerm []int64
	var relevances []float32
	for i, f := range found {
		switch {
		case slices.Contains(memory.LongTermTypes, f.Type) && a.Run != 0:
			longTerm = append(longTerm, f.Key)
		// who looks back would find what it is about to make of it
		case f.Type == memory.Note && !a.Origin.Autonomous():
			notes, relevances = append(notes, f.Key), append(relevances, float32(in.K-min(i, in.K))/float32(in.K))
		}
	}
	slices.Sort(longTerm) // every run takes rows in one order
	if len(notes)+len(longTerm) == 0 {
		return
	}
	query := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(in.Query), " "))))
	_ = k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		if err := tx.Recalls().Show(ctx, a.Run, a.Op, longTerm); err != nil || len(notes) == 0 {
			return err
		}
		return tx.Recalls().Recalled(ctx, query, notes, relevances)
	})
}

// entries are the memories that were found, by their ids.
func (k *Service) entries(ctx context.Context, ws int64, found []search.Result) (map[string]memory.Entry, error) {
	if len(found) == 0 {
		return nil, nil
	}
	var ids []string
	out := map[string]memory.Entry{}
	for _, f := range found {
		if f.Kind == search.KindMemory {
			ids = append(ids, f.ID)
		}
	}
	return out, k.Store.WithMemory(ctx, ws, func(ctx context.Context, tx Tx) error {
		all, err := tx.Recalls().LongTerm(ctx, ids)
		for _, e := range all {
			out[e.ID] = e
		}
		return err
	})
}
