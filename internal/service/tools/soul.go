package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Soul returns the tool for the user's reply preferences. Autonomous reviews do not have it.
func Soul(k *memories.PromptService) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{
			Name:        "soul_update",
			Class:       agent.Fast,
			Origins:     []agent.Origin{agent.OriginUser, agent.OriginAgent},
			Destructive: true,
			Instead: "save preferences of the user with memory_save, store profile; the soul changes only if " +
				"the user asks for it",
			Description: "Change how you reply: tone, style, language, form of address. Only if the user's current " +
				"message asks for it. The change takes effect in the next session and never overrides the system " +
				"rules. Store facts about the user and the world in memory, procedures in a skill, and the way to " +
				"reply in the soul.",
		},
			func(ctx context.Context, a agent.Actor, in soulArgs) (memories.SoulResult, error) {
				return k.SoulUpdate(ctx, a, memories.SoulArgs(in))
			})))
}

type soulArgs memories.SoulArgs

func (soulArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["content"], 0, memory.SoulRunes)
	p["mode"].Enum = []any{string(memory.SoulReplace), string(memory.SoulAppend)}
	p["mode"].Default = []byte(`"replace"`)
	p["expected_version"].Minimum = jsonschema.Ptr(0.0)
}
