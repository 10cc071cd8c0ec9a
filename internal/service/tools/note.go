package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Notes returns the tools for daily notes.
func Notes(k *memories.PromptService) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{
			Name:    agent.NoteAppend,
			Class:   agent.Fast,
			Origins: []agent.Origin{agent.OriginReflection, agent.OriginNudge},
			Description: "Add one observation to the notes of the day: an event, a decision or an open question. " +
				"Notes are found by search and are never in a prompt, so put here what is outdated within a week. " +
				"Adding a known observation changes nothing.",
		},
			func(ctx context.Context, a agent.Actor, in noteArgs) (memories.NoteResult, error) {
				return k.AppendNote(ctx, a, memories.NoteArgs(in))
			})))
}

type noteArgs memories.NoteArgs

func (noteArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["observation"], 1, memory.EntryRunes)
}
