package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// rememberers may read and write memories: users, the agent of a turn, and reviews.
var rememberers = []agent.Origin{agent.OriginUser, agent.OriginAgent, agent.OriginNudge, agent.OriginReflection}

// where describes for models which store a text belongs in.
const where = " Store facts about the user and the world in memory, procedures in a skill, and the way to " +
	"reply in the soul. Do not store what is outdated within a week."

// Memory returns the tools for prompt memories.
func Memory(k *memories.PromptService) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{Name: "memory_save", Class: agent.Fast, Origins: rememberers,
			Description: "Remember one fact for all later conversations. Write one declarative sentence, not an " +
				"instruction to yourself. Saving a known fact changes nothing." + where},
			func(ctx context.Context, a agent.Actor, in saveArgs) (memories.WriteResult, error) {
				return k.Save(ctx, a, memories.SaveArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_replace", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Correct a remembered fact. Select the entry by its ID or a part of its text, and send " +
				"the complete new text." + where},
			func(ctx context.Context, a agent.Actor, in replaceArgs) (memories.WriteResult, error) {
				return k.Replace(ctx, a, memories.ReplaceArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_remove", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Forget a remembered fact that is wrong, outdated, or that the user wants forgotten. " +
				"Select the entry by its ID or a part of its text."},
			func(ctx context.Context, a agent.Actor, in removeArgs) (memories.WriteResult, error) {
				return k.Remove(ctx, a, memories.RemoveArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_batch", Class: agent.Fast, Origins: rememberers, Destructive: true,
			Description: "Apply several changes to one store, all or none. Only the final state must fit the " +
				"limit. To make room in a full store, merge or remove entries, then add." + where},
			func(ctx context.Context, a agent.Actor, in batchArgs) (memories.WriteResult, error) {
				return k.Batch(ctx, a, memories.BatchArgs(in))
			})),
		made(New(agent.ToolSpec{Name: "memory_search", Class: agent.Fast, Origins: rememberers, ReadOnly: true,
			Idempotent: true,
			Description: "Search all memories by words and meaning: those in the prompt, and others about people, " +
				"tasks, tools and earlier sessions. Each result has its source messages and sessions. " +
				"Memories saved in this conversation are found before they are in the prompt. " +
				"Without a match, the list is empty."},
			func(ctx context.Context, a agent.Actor, in searchArgs) (memories.SearchResult, error) {
				return k.Search(ctx, a, memories.SearchArgs(in))
			})),
	)
}

// Arguments of the use cases with limits.
type (
	saveArgs    memories.SaveArgs
	replaceArgs memories.ReplaceArgs
	removeArgs  memories.RemoveArgs
	batchArgs   memories.BatchArgs
	searchArgs  memories.SearchArgs
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
	boundText(p["query"], 1, memories.QueryRunes)
	p["k"].Minimum, p["k"].Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(memories.MaxResults))
	p["k"].Default = []byte("6")
	p["sources"].Items.Enum = []any{"memory", "notes", "chunks"}
}

func boundStore(s *jsonschema.Schema) { s.Enum = []any{string(memory.Core), string(memory.Profile)} }

// boundText limits the length of a text in characters.
func boundText(s *jsonschema.Schema, least, most int) {
	if least > 0 {
		s.MinLength = jsonschema.Ptr(least)
	}
	s.MaxLength = jsonschema.Ptr(most)
}

// making is the result of New.
type making struct {
	tool Tool
	err  error
}

func made(t Tool, err error) making { return making{t, err} }

// collect returns the tools, or the first error.
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
