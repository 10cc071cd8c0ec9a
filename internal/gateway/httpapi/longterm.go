package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/apikey"
	"cairn/internal/service/dump"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

// NewLongTerm is what makes a new memory a long-term one, which stands in no
// prompt by itself and is found by retrieval.
type NewLongTerm struct {
	Type       string          `json:"memory_type,omitempty" enum:"personal,procedural,tool" doc:"Of a long-term memory, which is about a target"`
	Target     string          `json:"memory_target,omitempty" maxLength:"200" doc:"Whom or what it is about; registered when it is new"`
	WhenToUse  string          `json:"when_to_use,omitempty" doc:"The situation in which it helps; of a tool's guideline: the exact name of the tool"`
	Metadata   memory.Metadata `json:"metadata,omitempty"`
	EventTime  *time.Time      `json:"event_time,omitempty" doc:"When what it says happened"`
	Importance float64         `json:"importance,omitempty"`
}

// LongTermQuery chooses long-term memories.
type LongTermQuery struct {
	Types   []string `query:"memory_types" enum:"personal,procedural,tool,summary" doc:"Long-term memories of these types"`
	Targets []string `query:"targets,explode" doc:"Long-term memories about these"`
	MetadataQuery
	IDs    []string `query:"ids" maxItems:"100" doc:"These memories, of any type"`
	Sort   string   `query:"sort" enum:"created,-created" doc:"Long-term memories in the order of their making, or those that were made last first; created when it is left out"`
	Cursor string   `query:"cursor" doc:"next_cursor of the page before, which had the same sort"`
}

func (q LongTermQuery) given() bool {
	return len(q.Types)+len(q.Targets)+len(q.Metadata)+len(q.IDs)+len(q.Sort)+len(q.Cursor) > 0
}

// MetadataQuery chooses memories by what they say beside their content.
type MetadataQuery struct {
	Metadata string `query:"metadata" maxLength:"8000" doc:"A JSON object: long-term memories whose metadata has these members with these values"`
}

func (q MetadataQuery) members() (out memory.Metadata, err error) {
	if q.Metadata == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(q.Metadata), &out); err != nil || len(out) == 0 {
		return nil, fault.New(fault.InvalidArgument, "query.metadata is no JSON object with members",
			`send metadata={"topic":"pets"}, percent-encoded`)
	}
	return out, nil
}

func (q LongTermQuery) filter() (out memory.Filter, err error) {
	for _, t := range q.Types {
		out.Types = append(out.Types, memory.Type(t))
	}
	if q.Cursor != "" {
		if out.After, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil || out.After < 0 {
			return out, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no cursor", q.Cursor),
				"send next_cursor of the page before as it is")
		}
	}
	out.Targets, out.Newest = q.Targets, q.Sort == "-created"
	out.Metadata, err = q.members()
	return out, err
}

// MemoryTargets are who and what there are memories about.
type MemoryTargets struct {
	Targets []memory.Target `json:"targets"`
	Total   int             `json:"total"`
}

// DeletedMemories are those that a filter chose.
type DeletedMemories struct {
	Deleted []string `json:"deleted"`
}

// WorkspaceView is the workspace of the key.
type WorkspaceView dump.Counts

func (g *Gateway) longTermRoutes() {
	handle(g, route{method: http.MethodDelete, path: "/v1/memories", id: "deleteMemories", tag: tagMemory,
		scope: apikey.Admin, summary: "Forget all long-term memories that a filter chooses; their history stays"},
		g.deleteMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/{id}/restore", id: "restoreMemory", tag: tagMemory,
		scope: apikey.Write, bytes: smallBody,
		summary: "Have a long-term memory say again what it said, whatever its status"}, g.restoreMemory)
	handle(g, route{method: http.MethodGet, path: "/v1/targets", id: "listTargets", tag: tagMemory, scope: apikey.Read,
		summary: "List whom and what there are memories about"}, g.listTargets)
	handle(g, route{method: http.MethodPut, path: "/v1/targets/{type}/{target}", id: "describeTarget", tag: tagMemory,
		scope: apikey.Write, bytes: smallBody, summary: "Register a target, or say what is remembered about it"},
		g.describeTarget)
	handle(g, route{method: http.MethodGet, path: "/v1/workspace", id: "showWorkspace", tag: tagMemory,
		scope: apikey.Read, summary: "Show the workspace of the key, with how much there is in it"}, g.showWorkspace)
}

// entry reads a memory of any type, long-term ones whole.
func (g *Gateway) entry(ctx context.Context, id string) (memory.Entry, error) {
	found, err := g.LongTerm.Get(ctx, person(ctx, IdempotencyKey{}), id)
	if err != nil || len(found) == 1 {
		return first(found), err
	}
	return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("there is no memory %q", id),
		"GET /v1/memories lists them")
}

func first[T any](all []T) (out T) {
	if len(all) > 0 {
		out = all[0]
	}
	return out
}

func (g *Gateway) listLongTerm(ctx context.Context, in LongTermQuery, all bool, limit int) (*bodyOf[MemoryList],
	error) {
	out := &bodyOf[MemoryList]{MemoryList{Memories: []Memory{}, Usage: map[memory.Type]int{}}}
	who := person(ctx, IdempotencyKey{})
	if len(in.IDs) > 0 {
		entries, err := g.LongTerm.Get(ctx, who, in.IDs...)
		for _, e := range entries {
			out.Body.Memories = append(out.Body.Memories, Memory(e))
		}
		return out, err
	}
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	f.EveryStatus, f.Limit = all, limit
	entries, err := g.LongTerm.List(ctx, who, f)
	for _, e := range entries {
		out.Body.Memories = append(out.Body.Memories, Memory(e))
	}
	if len(entries) == limit {
		out.Body.Next = fmt.Sprint(entries[len(entries)-1].Key)
	}
	return out, err
}

func (g *Gateway) addLongTerm(ctx context.Context, once IdempotencyKey, m NewMemory) (promptmemory.WriteResult, error) {
	who := person(ctx, once)
	who.Subject = agent.MemoryScope{Type: m.Type, Target: m.Target}
	w, err := written(memory.Type(m.Type))(
		g.LongTerm.AddMemories(ctx, who, []longterm.NewMemory{
			{Content: m.Content, WhenToUse: m.WhenToUse, Metadata: m.Metadata, EventTime: m.EventTime,
				Importance: m.Importance}}))
	if err != nil {
		return promptmemory.WriteResult{}, err
	}
	return promptmemory.WriteResult(w.Body), nil
}

// written tells of items as writes of prompt memories are told of.
func written(t memory.Type) func([]longterm.ItemResult, error) (*bodyOf[MemoryWritten], error) {
	return func(items []longterm.ItemResult, err error) (*bodyOf[MemoryWritten], error) {
		if err != nil {
			return nil, err
		}
		out := MemoryWritten{Store: t, IDs: []string{}}
		for _, i := range items {
			out.Action = i.Status
			out.IDs = append(out.IDs, i.ID)
			if i.Merged != "" {
				out.Warnings = append(out.Warnings,
					fmt.Sprintf("memory %s said the same and is now part of %s", i.Merged, i.ID))
			}
		}
		return &bodyOf[MemoryWritten]{out}, nil
	}
}

func (g *Gateway) deleteMemories(ctx context.Context, in *struct {
	IdempotencyKey
	Types   []string `query:"memory_types" enum:"personal,procedural,tool,summary"`
	Targets []string `query:"targets,explode"`
	MetadataQuery
}) (*bodyOf[DeletedMemories], error) {
	f, err := LongTermQuery{Types: in.Types, Targets: in.Targets, MetadataQuery: in.MetadataQuery}.filter()
	if err != nil {
		return nil, err
	}
	items, err := g.LongTerm.DeleteWhere(ctx, person(ctx, in.IdempotencyKey), f)
	out := &bodyOf[DeletedMemories]{DeletedMemories{[]string{}}}
	for _, i := range items {
		out.Body.Deleted = append(out.Body.Deleted, i.ID)
	}
	return out, err
}

func (g *Gateway) restoreMemory(ctx context.Context, in *struct {
	MemoryPath
	IdempotencyKey
	Version int `query:"version" minimum:"0" doc:"What it said at this version; what it said last when left out"`
}) (*bodyOf[MemoryWritten], error) {
	e, err := g.entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return written(e.Type)(g.LongTerm.Restore(ctx, person(ctx, in.IdempotencyKey),
		longterm.RestoreArgs{ID: in.ID, Version: in.Version}))
}

func (g *Gateway) listTargets(ctx context.Context, _ *struct{}) (*bodyOf[MemoryTargets], error) {
	meta, err := g.LongTerm.ReadMeta(ctx, person(ctx, IdempotencyKey{}), longterm.MetaArgs{})
	return &bodyOf[MemoryTargets]{MemoryTargets{append([]memory.Target{}, meta.Targets...), meta.Total}}, err
}

func (g *Gateway) describeTarget(ctx context.Context, in *struct {
	IdempotencyKey
	Type   string `path:"type" enum:"personal,procedural"`
	Target string `path:"target" maxLength:"200"`
	Body   struct {
		Description string `json:"description" maxLength:"1000" doc:"One sentence; empty goes back to the sentence of the type"`
	}
}) (*bodyOf[longterm.RegisteredTarget], error) {
	who := person(ctx, in.IdempotencyKey)
	one := longterm.NewTarget{Type: memory.Type(in.Type), Target: in.Target, Description: in.Body.Description}
	made, err := g.LongTerm.AddTargets(ctx, who, []longterm.NewTarget{one})
	if err != nil || made[0].Status == memorywrite.Added {
		return &bodyOf[longterm.RegisteredTarget]{first(made)}, err
	}
	who.Op += "/describe"
	out, err := g.LongTerm.DescribeTarget(ctx, who, one)
	return &bodyOf[longterm.RegisteredTarget]{out}, err
}

func (g *Gateway) showWorkspace(ctx context.Context, _ *struct{}) (*bodyOf[WorkspaceView], error) {
	c, err := g.Workspaces.Counts(ctx, workspace(ctx))
	return &bodyOf[WorkspaceView]{WorkspaceView(c)}, err
}
