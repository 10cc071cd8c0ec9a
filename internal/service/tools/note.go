package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/promptmemory"
)

// Notes returns the tools for daily notes.
func Notes(k *promptmemory.Service) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{
			Name:    agent.NoteAppend,
			Class:   agent.Fast,
			Origins: []agent.Origin{agent.OriginReflection, agent.OriginNudge},
			Description: "Add one observation to the notes of the day: an event, a decision or an open question. " +
				"Notes are found by search and are never in a prompt, so put here what is outdated within a week. " +
				"Adding a known observation changes nothing.",
		},
			func(ctx context.Context, a agent.Actor, in noteArgs) (promptmemory.NoteResult, error) {
				return k.AppendNote(ctx, a, promptmemory.NoteArgs(in))
			})))
}

type noteArgs promptmemory.NoteArgs

func (noteArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["observation"], 1, memory.EntryRunes)
}
