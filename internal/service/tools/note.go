package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/promptmemory"
)

// NoteAppend is the tool of whoever looks back on a day, or on what a
// conversation is about to have only a record of.
const NoteAppend = "note_append"

// Notes are the tools over daily notes.
func Notes(k *promptmemory.Service) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{
			Name:    NoteAppend,
			Class:   agent.Fast,
			Origins: []agent.Origin{agent.OriginReflection, agent.OriginNudge},
			Description: "Add one observation to the notes of the day: what happened, what was decided, what is " +
				"open. " +
				"Notes are found by search and never stand in a prompt, so what is stale within a week belongs " +
				"here. What the day's notes say already changes nothing.",
		},
			func(ctx context.Context, a agent.Actor, in noteArgs) (promptmemory.NoteResult, error) {
				return k.AppendNote(ctx, a, promptmemory.NoteArgs(in))
			})))
}

type noteArgs promptmemory.NoteArgs

func (noteArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["observation"], 1, memory.EntryRunes)
}
