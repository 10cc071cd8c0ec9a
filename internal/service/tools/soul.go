package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/promptmemory"
)

// Soul is the tool over how the user wants to be answered. Reviews that nobody
// watches do not have it.
func Soul(k *promptmemory.Service) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{
			Name:        "soul_update",
			Class:       agent.Fast,
			Origins:     []agent.Origin{agent.OriginUser, agent.OriginAgent},
			Destructive: true,
			Instead: "keep what the user prefers with memory_save, store profile: the soul changes only when the " +
				"user " +
				"asks for it",
			Description: "Change how you sound: tone, style, language, form of address. Only when the user's current " +
				"message asks for it. It takes effect in the next session, and never overrides the rules above it. " +
				"How to sound belongs in the soul; who the user is or what is true belongs in memory; how something " +
				"is " +
				"done belongs in a skill.",
		},
			func(ctx context.Context, a agent.Actor, in soulArgs) (promptmemory.SoulResult, error) {
				return k.SoulUpdate(ctx, a, promptmemory.SoulArgs(in))
			})))
}

type soulArgs promptmemory.SoulArgs

func (soulArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["content"], 0, memory.SoulRunes)
	p["mode"].Enum = []any{string(memory.SoulReplace), string(memory.SoulAppend)}
	p["mode"].Default = []byte(`"replace"`)
	p["expected_version"].Minimum = jsonschema.Ptr(0.0)
}
