package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

type (
	// Memory is a memory of any type.
	Memory memory.Entry
	// MemoryRevision is one version of a memory.
	MemoryRevision memory.Revision
	// MemoryWritten is the result of a write.
	MemoryWritten memories.WriteResult
)

// MemoryList is a page of memories in the order of their creation.
type MemoryList struct {
	Memories []Memory            `json:"memories"`
	Usage    map[memory.Type]int `json:"usage_percent" doc:"Fill level of each store in percent"`
	Next     string              `json:"next_cursor,omitempty" doc:"Cursor of the next page of long-term memories; absent on the last page"`
}

// MemoryHistory holds the versions of a memory, the latest first.
type MemoryHistory struct {
	ID        string           `json:"id"`
	Revisions []MemoryRevision `json:"revisions"`
}

// NewMemory is the request to save a memory.
type NewMemory struct {
	Content string `json:"content" minLength:"1" doc:"One fact in one sentence, phrased as a statement, not as an instruction"`
	Store   string `json:"store,omitempty" enum:"core,profile" doc:"profile for facts about the user, core (default) for other facts"`
	NewLongTerm
}

// MemoryPath is the path parameter that names a memory.
type MemoryPath struct {
	ID string `path:"id" maxLength:"100" doc:"The memory's ID"`
}

func (g *Gateway) memoryRoutes() {
	const path = "/v1/memories/{id}"
	written := content("application/json", schemaOf[MemoryWritten](g))
	handle(g, route{method: http.MethodGet, path: "/v1/memories", id: "listMemories", tag: tagMemory,
		scope: access.Read, summary: "List prompt memories with the fill level of their stores; " +
			"with memory_types, targets or ids, list long-term memories"}, g.listMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories", id: "addMemory", tag: tagMemory, scope: access.Write,
		status: http.StatusCreated, bytes: smallBody, summary: "Save a memory",
		about: "A known fact changes nothing. Text with a secret or with signs of prompt injection is " +
			"rejected.",
		responses: map[string]*huma.Response{"200": {Description: "The memory existed", Content: written},
			"201": {Description: "The memory was saved", Content: written}}}, g.addMemory)
	handle(g, route{method: http.MethodGet, path: path, id: "showMemory", tag: tagMemory, scope: access.Read,
		summary: "Get a memory, whatever its status"}, g.showMemory)
	handle(g, route{method: http.MethodPut, path: path, id: "updateMemory", tag: tagMemory, scope: access.Write,
		bytes: smallBody, summary: "Change the content of a memory"}, g.updateMemory)
	handle(g, route{method: http.MethodDelete, path: path, id: "deleteMemory", tag: tagMemory, scope: access.Write,
		summary: "Delete a memory; its history stays"}, g.deleteMemory)
	handle(g, route{method: http.MethodGet, path: path + "/history", id: "memoryHistory", tag: tagMemory,
		scope: access.Read, summary: "List the versions of a memory, the latest first"}, g.memoryHistory)
}

func (g *Gateway) listMemories(ctx context.Context, in *struct {
	Store string `query:"store" enum:"core,profile" doc:"List only this store"`
	All   bool   `query:"all" doc:"Include removed and quarantined memories"`
	LongTermQuery
	Limit int `query:"limit" default:"1000" minimum:"1" maximum:"1000"`
}) (*bodyOf[MemoryList], error) {
	if in.given() {
		return g.listLongTerm(ctx, in.LongTermQuery, in.All, in.Limit)
	}
	listing, err := g.Memory.List(ctx, person(ctx, IdempotencyKey{}),
		memories.ListArgs{Store: in.Store, All: in.All, Limit: in.Limit})
	out := &bodyOf[MemoryList]{MemoryList{Memories: []Memory{}, Usage: listing.Usage}}
	for _, e := range listing.Entries {
		out.Body.Memories = append(out.Body.Memories, Memory(e))
	}
	return out, err
}

func (g *Gateway) addMemory(ctx context.Context, in *struct {
	IdempotencyKey
	Body NewMemory
}) (*struct {
	Status int
	Body   MemoryWritten
}, error) {
	save := func() (memories.WriteResult, error) {
		return g.Memory.Save(ctx, person(ctx, in.IdempotencyKey),
			memories.SaveArgs{Content: in.Body.Content, Store: in.Body.Store})
	}
	if in.Body.Type != "" {
		save = func() (memories.WriteResult, error) { return g.addLongTerm(ctx, in.IdempotencyKey, in.Body) }
	}
	w, err := save()
	out := &struct {
		Status int
		Body   MemoryWritten
	}{http.StatusOK, MemoryWritten(w)}
	if w.Action == memories.Added {
		out.Status = http.StatusCreated
	}
	return out, err
}

func (g *Gateway) showMemory(ctx context.Context, in *MemoryPath) (*bodyOf[Memory], error) {
	e, err := g.entry(ctx, in.ID)
	return &bodyOf[Memory]{Memory(e)}, err
}

func (g *Gateway) updateMemory(ctx context.Context, in *struct {
	MemoryPath
	IdempotencyKey
	Body struct {
		Content  string          `json:"content" minLength:"1" doc:"The complete new content"`
		Metadata memory.Metadata `json:"metadata,omitempty" doc:"For a long-term memory: metadata members to change; null removes a member"`
		Expected *int            `json:"expected_version,omitempty" minimum:"1" maximum:"2147483647" doc:"For a long-term memory: the version that the change is based on"`
	}
}) (*bodyOf[MemoryWritten], error) {
	who := person(ctx, in.IdempotencyKey)
	e, err := g.entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(memory.LongTermTypes, e.Type) {
		return written(e.Type)(g.LongTerm.UpdateMemories(ctx, who,
			[]memories.ChangedMemory{{ID: in.ID, Content: in.Body.Content, Metadata: in.Body.Metadata,
				Expected: in.Body.Expected}}))
	}
	w, err := g.Memory.Replace(ctx, who, memories.ReplaceArgs{Store: string(e.Type), Match: in.ID,
		Content: in.Body.Content})
	return &bodyOf[MemoryWritten]{MemoryWritten(w)}, err
}

func (g *Gateway) deleteMemory(ctx context.Context, in *struct {
	MemoryPath
	IdempotencyKey
}) (*bodyOf[MemoryWritten], error) {
	who := person(ctx, in.IdempotencyKey)
	e, err := g.entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(memory.LongTermTypes, e.Type) {
		return written(e.Type)(g.LongTerm.DeleteMemories(ctx, who, []memories.DeleteRequest{{ID: in.ID}}))
	}
	w, err := g.Memory.Remove(ctx, who, memories.RemoveArgs{Store: string(e.Type), Match: in.ID})
	return &bodyOf[MemoryWritten]{MemoryWritten(w)}, err
}

func (g *Gateway) memoryHistory(ctx context.Context, in *struct {
	MemoryPath
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[MemoryHistory], error) {
	revisions, err := g.Memory.History(ctx, person(ctx, IdempotencyKey{}), in.ID, in.Limit)
	out := &bodyOf[MemoryHistory]{MemoryHistory{ID: in.ID, Revisions: []MemoryRevision{}}}
	for _, r := range revisions {
		out.Body.Revisions = append(out.Body.Revisions, MemoryRevision(r))
	}
	return out, err
}
