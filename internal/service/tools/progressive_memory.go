package tools

import (
	"context"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
)

// Items that one call changes at most.
const (
	mostWritten = 20
	mostDeleted = 50
)

type addItem struct {
	WhenToUse string         `json:"when_to_use,omitempty" jsonschema:"the situation in which this helps, in one sentence; of a tool's guideline: the exact name of the tool"`
	Content   string         `json:"memory_content" jsonschema:"what is to be remembered: a statement that can be understood by itself"`
	Metadata  map[string]any `json:"metadata,omitempty" jsonschema:"facts beside the statement, such as when it was true"`
}

func nonEmpty(names ...string) func(map[string]*jsonschema.Schema) {
	return func(p map[string]*jsonschema.Schema) {
		for _, name := range names {
			p[name].MinLength = jsonschema.Ptr(1)
		}
		if m := p["metadata"]; m != nil {
			m.AdditionalProperties = nil // anything, which needs no saying
		}
	}
}

func addMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_memory", Class: agent.Fast,
		Description: "Remember one thing about the target you look after. What is remembered already is not added " +
			"twice: look for it first with vector_retrieve_memory."},
		bound: nonEmpty("memory_content", "when_to_use")}
	if o.Multiple {
		d.list, d.most = "memories", mostWritten
		d.spec.Description = "Remember several things about the target you look after, each as a memory of its own. " +
			"What is remembered already is not added twice: look for it first with vector_retrieve_memory."
	}
	if o.Type == memory.Guideline {
		d.spec.Description += " A tool has one guideline: adding one for a tool that has it replaces it."
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
		bad []longterm.ItemResult) (itemsResult, error) {
		in := make([]longterm.NewMemory, len(items))
		for i, one := range items {
			in[i] = longterm.NewMemory{Index: one.Index, Content: one.Value.Content, WhenToUse: one.Value.WhenToUse,
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
	ID       string         `json:"memory_id" jsonschema:"id of the memory, as vector_retrieve_memory shows it"`
	Content  string         `json:"memory_content" jsonschema:"all of what it says from now on"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"members that change; null takes one away, the others stay"`
}

func updateMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "update_memory", Class: agent.Fast, Destructive: true,
		Description: "Correct or complete one memory of the target you look after. It keeps its id."},
		bound: nonEmpty("memory_id", "memory_content")}
	if o.Multiple {
		d.list, d.most = "memories", mostWritten
		d.spec.Description = "Correct or complete memories of the target you look after. They keep their ids."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[updateItem],
		bad []longterm.ItemResult) (itemsResult, error) {
		in := make([]longterm.ChangedMemory, len(items))
		for i, one := range items {
			in[i] = longterm.ChangedMemory{Index: one.Index, ID: one.Value.ID, Content: one.Value.Content,
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
	ID string `json:"memory_id" jsonschema:"id of the memory, as vector_retrieve_memory shows it"`
}

func deleteMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "delete_memory", Class: agent.Fast, Destructive: true,
		Description: "Forget one memory of the target you look after that is wrong or out of date. Where a new " +
			"statement takes its place, update it instead."},
		bound: nonEmpty("memory_id")}
	if o.Multiple {
		d.list, d.member, d.most = "memory_ids", "memory_id", mostDeleted
		d.spec.Description = "Forget memories of the target you look after that are wrong or out of date. Where a " +
			"new statement takes the place of one, update it instead."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[deleteItem],
		bad []longterm.ItemResult) (itemsResult, error) {
		var in []longterm.DeleteRequest
		for _, one := range items {
			if !slices.ContainsFunc(in, func(g longterm.DeleteRequest) bool { return g.ID == one.Value.ID }) {
				in = append(in, longterm.DeleteRequest{Index: one.Index, ID: one.Value.ID})
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
	Type   string `json:"memory_type" jsonschema:"type of the target, as the list of targets has it"`
	Target string `json:"memory_target" jsonschema:"the target, as the list of targets has it"`
	Query  string `json:"query" jsonschema:"what is looked for, in a few words; of tool guidelines: the exact name of the tool"`
	Time   string `json:"time_filter,omitempty" jsonschema:"only what happened then: YYYYMMDD, or YYYYMMDD,YYYYMMDD for a first and a last day"`
}

func vectorRetrieveMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "vector_retrieve_memory", Class: agent.Fast, ReadOnly: true,
		Idempotent: true, Description: "Look for memories, by words and meaning."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target", "query")(p)
			p["memory_type"].Enum = enum(o.among(memory.HandOffTypes))
			p["time_filter"].Pattern = longterm.TimeFilter
		}}
	if o.Multiple {
		d.list, d.most = "query_items", longterm.MostWants
		d.spec.Description = "Look for memories, by words and meaning, several queries at once; what more than one " +
			"finds is shown once."
	}
	if !o.TypeTarget {
		d.drop = []string{"memory_type", "memory_target"}
		d.spec.Description += " Only memories of the target you look after are found."
	}
	if o.SummaryMemory {
		d.spec.Description += " Summaries of sessions are found, too. Where a line is too short, read the session " +
			"of its ref_memory_id with read_history_memory."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[retrieveItem],
		bad []longterm.ItemResult) (retrieved, error) {
		in := longterm.RetrieveArgs{Summaries: o.SummaryMemory, TopK: o.TopK, NoRepeats: o.NoRepeats}
		for _, one := range items {
			in.Wants = append(in.Wants, longterm.Query{Index: one.Index, Query: one.Value.Query,
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
