package tools

import (
	"context"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Maximum number of items per call.
const (
	maxWritten = 20
	maxDeleted = 50
)

type addItem struct {
	WhenToUse string         `json:"when_to_use,omitempty" jsonschema:"situation in which this helps, in one sentence; for a tool guideline: exact name of the tool"`
	Content   string         `json:"memory_content" jsonschema:"fact to remember: a statement that is clear without context"`
	Metadata  map[string]any `json:"metadata,omitempty" jsonschema:"additional facts, for example when the statement was true"`
}

func nonEmpty(names ...string) func(map[string]*jsonschema.Schema) {
	return func(p map[string]*jsonschema.Schema) {
		for _, name := range names {
			p[name].MinLength = jsonschema.Ptr(1)
		}
		if m := p["metadata"]; m != nil {
			m.AdditionalProperties = nil // anything is allowed, which is the default
		}
	}
}

func addMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_memory", Class: agent.Fast,
		Description: "Remember one thing about your target. Search for it first with vector_retrieve_memory, " +
			"and do not add it twice."},
		bound: nonEmpty("memory_content", "when_to_use")}
	if o.Multiple {
		d.list, d.most = "memories", maxWritten
		d.spec.Description = "Remember several things about your target, each as a separate memory. " +
			"Search for them first with vector_retrieve_memory, and do not add them twice."
	}
	if o.Type == memory.Guideline {
		d.spec.Description += " A tool has only one guideline: adding another replaces it."
	}
	switch {
	case o.WhenToUse || o.Type == memory.Guideline:
		d.need = []string{"when_to_use"}
		d.bound = func(p map[string]*jsonschema.Schema) { nonEmpty("memory_content", "when_to_use")(p) }
	default:
		d.drop = append(d.drop, "when_to_use")
	}
	if !o.Metadata {
		d.drop = append(d.drop, "metadata")
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[addItem],
		bad []memories.ItemResult) (itemsResult, error) {
		in := make([]memories.NewMemory, len(items))
		for i, one := range items {
			in[i] = memories.NewMemory{Index: one.Index, Content: one.Value.Content, WhenToUse: one.Value.WhenToUse,
				Metadata: one.Value.Metadata}
		}
		done, err := l.AddMemories(ctx, a, in)
		if err != nil {
			return itemsResult{}, err
		}
		return both(done, bad)
	})
}

type updateItem struct {
	ID       string         `json:"memory_id" jsonschema:"ID of the memory, from vector_retrieve_memory"`
	Content  string         `json:"memory_content" jsonschema:"complete new text of the memory"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"fields to change; null removes a field, other fields are kept"`
}

func updateMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "update_memory", Class: agent.Fast, Destructive: true,
		Description: "Correct or complete one memory of your target. Its ID does not change."},
		bound: nonEmpty("memory_id", "memory_content")}
	if o.Multiple {
		d.list, d.most = "memories", maxWritten
		d.spec.Description = "Correct or complete memories of your target. Their IDs do not change."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[updateItem],
		bad []memories.ItemResult) (itemsResult, error) {
		in := make([]memories.ChangedMemory, len(items))
		for i, one := range items {
			in[i] = memories.ChangedMemory{Index: one.Index, ID: one.Value.ID, Content: one.Value.Content,
				Metadata: one.Value.Metadata}
		}
		done, err := l.UpdateMemories(ctx, a, in)
		if err != nil {
			return itemsResult{}, err
		}
		return both(done, bad)
	})
}

type deleteItem struct {
	ID string `json:"memory_id" jsonschema:"ID of the memory, from vector_retrieve_memory"`
}

func deleteMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "delete_memory", Class: agent.Fast, Destructive: true,
		Description: "Forget one memory of your target that is wrong or outdated. To replace it by a new " +
			"statement, update it instead."},
		bound: nonEmpty("memory_id")}
	if o.Multiple {
		d.list, d.member, d.most = "memory_ids", "memory_id", maxDeleted
		d.spec.Description = "Forget memories of your target that are wrong or outdated. To replace one by a new " +
			"statement, update it instead."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[deleteItem],
		bad []memories.ItemResult) (itemsResult, error) {
		var in []memories.DeleteRequest
		for _, one := range items {
			if !slices.ContainsFunc(in, func(g memories.DeleteRequest) bool { return g.ID == one.Value.ID }) {
				in = append(in, memories.DeleteRequest{Index: one.Index, ID: one.Value.ID})
			}
		}
		done, err := l.DeleteMemories(ctx, a, in)
		if err != nil {
			return itemsResult{}, err
		}
		return both(done, bad)
	})
}

type retrieveItem struct {
	Type   string `json:"memory_type" jsonschema:"type of the target, as in the list of targets"`
	Target string `json:"memory_target" jsonschema:"name of the target, as in the list of targets"`
	Query  string `json:"query" jsonschema:"search text, a few words; for tool guidelines: exact name of the tool"`
	Time   string `json:"time_filter,omitempty" jsonschema:"limit to a day, YYYYMMDD, or to a range of days, YYYYMMDD,YYYYMMDD"`
}

func vectorRetrieveMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "vector_retrieve_memory", Class: agent.Fast, ReadOnly: true,
		Idempotent: true, Description: "Search memories by words and meaning."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target", "query")(p)
			p["memory_type"].Enum = enum(o.among(memory.HandOffTypes))
			p["time_filter"].Pattern = memories.TimeFilter
		}}
	if o.Multiple {
		d.list, d.most = "query_items", memories.MaxWants
		d.spec.Description = "Search memories by words and meaning, with several queries. A memory that several " +
			"queries find is shown once."
	}
	if !o.TypeTarget {
		d.drop = []string{"memory_type", "memory_target"}
		d.spec.Description += " Searches only memories of your target."
	}
	if o.SummaryMemory {
		d.spec.Description += " Also searches summaries of sessions. If a line has too little detail, read the " +
			"session of its ref_memory_id with read_history_memory."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[retrieveItem],
		bad []memories.ItemResult) (retrieved, error) {
		in := memories.RetrieveArgs{Summaries: o.SummaryMemory, TopK: o.TopK, NoRepeats: o.NoRepeats,
			Named: a.Run != ""}
		for _, one := range items {
			in.Wants = append(in.Wants, memories.Query{Index: one.Index, Query: one.Value.Query,
				Type: memory.Type(one.Value.Type), Target: one.Value.Target, TimeFilter: one.Value.Time})
		}
		found, err := l.Retrieve(ctx, a, in)
		if err != nil {
			return retrieved{}, err
		}
		out := retrieved{Text: found.Text, IDs: []string{}, Failed: append(found.Failed, bad...)}
		for _, e := range found.Found {
			out.IDs = append(out.IDs, e.ID)
		}
		for _, f := range out.Failed {
			out.Text += "\n" + line(f, true)
		}
		return out, nil
	})
}

func enum(types []memory.Type) (out []any) {
	for _, t := range types {
		out = append(out, string(t))
	}
	return out
}
