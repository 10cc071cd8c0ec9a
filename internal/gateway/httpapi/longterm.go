package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// NewLongTerm holds the fields of a new long-term memory. Long-term memories are not part
// of prompts; search finds them.
type NewLongTerm struct {
	Type       string          `json:"memory_type,omitempty" enum:"personal,procedural,tool" doc:"Type of a long-term memory"`
	Target     string          `json:"memory_target,omitempty" maxLength:"200" doc:"Target of a long-term memory; a new target is registered"`
	WhenToUse  string          `json:"when_to_use,omitempty" doc:"Situation in which the memory helps. For type tool: the exact name of the tool"`
	Metadata   memory.Metadata `json:"metadata,omitempty"`
	EventTime  *time.Time      `json:"event_time,omitempty" doc:"Time of the event that the memory describes"`
	Importance float64         `json:"importance,omitempty" minimum:"-1000000" maximum:"1000000"`
}

// LongTermQuery selects long-term memories.
type LongTermQuery struct {
	Types   []string `query:"memory_types" enum:"personal,procedural,tool,summary" doc:"Select long-term memories of these types"`
	Targets []string `query:"targets,explode" doc:"Select long-term memories of these targets"`
	MetadataQuery
	IDs    []string `query:"ids" maxItems:"100" doc:"Select these memories of any type"`
	Sort   string   `query:"sort" enum:"created,-created" doc:"Order by creation time, ascending (created, the default) or descending (-created)"`
	Cursor string   `query:"cursor" doc:"next_cursor of the previous page, requested with the same sort"`
}

func (q LongTermQuery) given() bool {
	return len(q.Types)+len(q.Targets)+len(q.Metadata)+len(q.IDs)+len(q.Sort)+len(q.Cursor) > 0
}

// MetadataQuery selects memories by their metadata.
type MetadataQuery struct {
	Metadata string `query:"metadata" maxLength:"8000" doc:"A JSON object; selects long-term memories whose metadata contains its members"`
}

func (q MetadataQuery) members() (out memory.Metadata, err error) {
	if q.Metadata == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(q.Metadata), &out); err != nil || len(out) == 0 {
		return nil, fault.New(fault.InvalidArgument, "query.metadata must be a JSON object with at least one member",
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
			return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid cursor %q", q.Cursor),
				"send the next_cursor of the previous page unchanged")
		}
	}
	out.Targets, out.Newest = q.Targets, q.Sort == "-created"
	out.Metadata, err = q.members()
	return out, err
}

// MemoryTargets holds the targets of long-term memories.
type MemoryTargets struct {
	Targets []memory.Target `json:"targets"`
	Total   int             `json:"total"`
}

// DeletedMemories holds the IDs of the memories that a filter selected.
type DeletedMemories struct {
	Deleted []string `json:"deleted"`
}

// WorkspaceView is the workspace of the key.
type WorkspaceView dumpfile.Counts

func (g *Gateway) longTermRoutes() {
	handle(g, route{method: http.MethodDelete, path: "/v1/memories", id: "deleteMemories", tag: tagMemory,
		scope: access.Admin, summary: "Delete the long-term memories that match a filter; their history stays"},
		g.deleteMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/{id}/restore", id: "restoreMemory", tag: tagMemory,
		scope: access.Write, bytes: smallBody,
		summary: "Restore a version of a memory, whatever its status",
		about: "The memory keeps its ID. Deleted memories can be restored for `limits.undo_days` days. The text of a " +
			"core or profile memory must fit the limit of its store. A memory in quarantine requires the scope admin."},
		g.restoreMemory)
	handle(g, route{method: http.MethodGet, path: "/v1/targets", id: "listTargets", tag: tagMemory, scope: access.Read,
		summary: "List memory targets"}, g.listTargets)
	handle(g, route{method: http.MethodPut, path: "/v1/targets/{type}/{target}", id: "describeTarget", tag: tagMemory,
		scope: access.Write, bytes: smallBody, summary: "Register a target or change its description"},
		g.describeTarget)
	handle(g, route{method: http.MethodGet, path: "/v1/workspace", id: "showWorkspace", tag: tagMemory,
		scope: access.Read, summary: "Get the workspace of the key with its row counts"}, g.showWorkspace)
}

// entry reads a memory of any type.
func (g *Gateway) entry(ctx context.Context, id string) (memory.Entry, error) {
	found, err := g.LongTerm.Get(ctx, person(ctx, IdempotencyKey{}), id)
	if err != nil || len(found) == 1 {
		return first(found), err
	}
	return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %q not found", id),
		"list memories with GET /v1/memories")
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

func (g *Gateway) addLongTerm(ctx context.Context, once IdempotencyKey, m NewMemory) (memories.WriteResult, error) {
	who := person(ctx, once)
	who.Subject = agent.MemoryScope{Type: m.Type, Target: m.Target}
	w, err := written(memory.Type(m.Type))(
		g.LongTerm.AddMemories(ctx, who, []memories.NewMemory{
			{Content: m.Content, WhenToUse: m.WhenToUse, Metadata: m.Metadata, EventTime: m.EventTime,
				Importance: m.Importance}}))
	if err != nil {
		return memories.WriteResult{}, err
	}
	return memories.WriteResult(w.Body), nil
}

// written converts the results of long-term writes into the response of a write.
func written(t memory.Type) func([]memories.ItemResult, error) (*bodyOf[MemoryWritten], error) {
	return func(items []memories.ItemResult, err error) (*bodyOf[MemoryWritten], error) {
		if err != nil {
			return nil, err
		}
		out := MemoryWritten{Store: t, IDs: []string{}}
		for _, i := range items {
			out.Action = i.Status
			out.IDs = append(out.IDs, i.ID)
			if i.Merged != "" {
				out.Warnings = append(out.Warnings,
					fmt.Sprintf("memory %s had the same content and was merged into %s", i.Merged, i.ID))
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
	Version int `query:"version" minimum:"0" maximum:"2147483647" doc:"Version to restore; default: the last one with content"`
}) (*bodyOf[MemoryWritten], error) {
	e, err := g.entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	who := person(ctx, in.IdempotencyKey)
	if slices.Contains(memory.PromptTypes, e.Type) {
		w, err := g.Memory.Restore(ctx, who, memories.PromptRestoreArgs{ID: in.ID, Version: in.Version})
		return &bodyOf[MemoryWritten]{MemoryWritten(w)}, err
	}
	return written(e.Type)(g.LongTerm.Restore(ctx, who, memories.RestoreArgs{ID: in.ID, Version: in.Version}))
}

func (g *Gateway) listTargets(ctx context.Context, _ *struct{}) (*bodyOf[MemoryTargets], error) {
	meta, err := g.LongTerm.ReadMeta(ctx, person(ctx, IdempotencyKey{}), memories.MetaArgs{})
	return &bodyOf[MemoryTargets]{MemoryTargets{append([]memory.Target{}, meta.Targets...), meta.Total}}, err
}

func (g *Gateway) describeTarget(ctx context.Context, in *struct {
	IdempotencyKey
	Type   string `path:"type" enum:"personal,procedural"`
	Target string `path:"target" maxLength:"200"`
	Body   struct {
		Description string `json:"description" maxLength:"1000" doc:"One sentence; empty restores the default sentence of the type"`
	}
}) (*bodyOf[memories.RegisteredTarget], error) {
	who := person(ctx, in.IdempotencyKey)
	one := memories.NewTarget{Type: memory.Type(in.Type), Target: in.Target, Description: in.Body.Description}
	made, err := g.LongTerm.AddTargets(ctx, who, []memories.NewTarget{one})
	if err != nil || made[0].Status == memories.Added {
		return &bodyOf[memories.RegisteredTarget]{first(made)}, err
	}
	who.Op += "/describe"
	out, err := g.LongTerm.DescribeTarget(ctx, who, one)
	return &bodyOf[memories.RegisteredTarget]{out}, err
}

func (g *Gateway) showWorkspace(ctx context.Context, _ *struct{}) (*bodyOf[WorkspaceView], error) {
	c, err := g.Workspaces.Counts(ctx, workspace(ctx))
	return &bodyOf[WorkspaceView]{WorkspaceView(c)}, err
}
