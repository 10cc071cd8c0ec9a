package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

// rememberers may read and write memories: whoever talks with the user, and the
// reviews that follow.
var rememberers = []agent.Origin{agent.OriginUser, agent.OriginAgent, agent.OriginNudge, agent.OriginReflection}

// where tells models which store a text belongs in.
const where = " Who the user is or what is true belongs in memory; how something is done belongs in a skill; how to " +
	"sound belongs in the soul; what is stale within a week belongs in neither."

// Memory are the tools over the prompt memories.
func Memory(k *promptmemory.Service) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{Name: "memory_save", Class: agent.Fast, Origins: rememberers,
			Description: "Remember one fact for every later conversation. Write a statement in one sentence, not an " +
				"order to yourself. What is known already changes nothing." + where},
			func(ctx context.Context, a agent.Actor, in saveArgs) (promptmemory.WriteResult, error) {
				return k.Save(ctx, a, promptmemory.SaveArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_replace", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Correct a remembered fact: name the entry by its id or by a part of its text, and give " +
				"its new text in full." + where},
			func(ctx context.Context, a agent.Actor, in replaceArgs) (promptmemory.WriteResult, error) {
				return k.Replace(ctx, a, promptmemory.ReplaceArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_remove", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Forget a remembered fact that is wrong, out of date, or that the user wants forgotten: " +
				"name the entry by its id or by a part of its text."},
			func(ctx context.Context, a agent.Actor, in removeArgs) (promptmemory.WriteResult, error) {
				return k.Remove(ctx, a, promptmemory.RemoveArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_batch", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Do several changes of one store at once, all of them or none. Only the final state must " +
				"fit, so this is how to make room in a full store: merge or remove entries, then add." + where},
			func(ctx context.Context, a agent.Actor, in batchArgs) (promptmemory.WriteResult, error) {
				return k.Batch(ctx, a, promptmemory.BatchArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_search", Class: agent.Fast, Origins: rememberers, ReadOnly: true,
			Idempotent: true,
			Description: "Look up what is remembered, by words and meaning, with the messages and sessions that it " +
				"comes from: what stands in the prompt, and what is known beside it of people, tasks, tools and " +
				"earlier sessions. Memories saved during this conversation are found here before they stand in the " +
				"prompt. Nothing near enough gives an empty list."},
			func(ctx context.Context, a agent.Actor, in searchArgs) (promptmemory.SearchResult, error) {
				return k.Search(ctx, a, promptmemory.SearchArgs(in))
			})),
	)
}

// The arguments of the use-cases with their bounds.
type (
	saveArgs    promptmemory.SaveArgs
	replaceArgs promptmemory.ReplaceArgs
	removeArgs  promptmemory.RemoveArgs
	batchArgs   promptmemory.BatchArgs
	searchArgs  promptmemory.SearchArgs
)

func (saveArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["content"], 1, memory.EntryRunes)
	boundStore(p["store"])
	p["store"].Default = []byte(`"core"`)
}

func (replaceArgs) Bound(p map[string]*jsonschema.Schema) {
	boundStore(p["store"])
	boundText(p["match"], 1, memory.MatchRunes)
	boundText(p["content"], 1, memory.EntryRunes)
}

func (removeArgs) Bound(p map[string]*jsonschema.Schema) {
	boundStore(p["store"])
	boundText(p["match"], 1, memory.MatchRunes)
}

func (batchArgs) Bound(p map[string]*jsonschema.Schema) {
	boundStore(p["store"])
	p["operations"].MinItems, p["operations"].MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(memory.BatchOperations)
	one := p["operations"].Items.Properties
	one["op"].Enum = []any{string(memory.Add), string(memory.Replace), string(memory.Remove)}
	boundText(one["match"], 0, memory.MatchRunes)
	boundText(one["content"], 0, memory.EntryRunes)
}

func (searchArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["query"], 1, memorywrite.QueryRunes)
	p["k"].Minimum, p["k"].Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(promptmemory.MostResults))
	p["k"].Default = []byte("6")
	p["sources"].Items.Enum = []any{"memory", "notes", "chunks"}
}

func boundStore(s *jsonschema.Schema) { s.Enum = []any{string(memory.Core), string(memory.Profile)} }

// boundText bounds a length in characters.
func boundText(s *jsonschema.Schema, least, most int) {
	if least > 0 {
		s.MinLength = jsonschema.Ptr(least)
	}
	s.MaxLength = jsonschema.Ptr(most)
}

// making is what New returned.
type making struct {
	tool Tool
	err  error
}

func made(t Tool, err error) making { return making{t, err} }

// collect gives the tools, or the first error.
func collect(all ...making) ([]Tool, error) {
	var out []Tool
	for _, m := range all {
		if m.err != nil {
			return nil, m.err
		}
		out = append(out, m.tool)
	}
	return out, nil
}
