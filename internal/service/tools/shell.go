package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/service/library"
)

// Shell returns the tool that runs commands of skills. Only the agent of a turn has it. Callers
// with a key can run programs themselves.
func Shell(s *library.Executor) (Tool, error) {
	return New(agent.ToolSpec{Name: "execute_shell", Class: agent.Isolated, Origins: []agent.Origin{agent.OriginAgent},
		Set: agent.SetShell,
		Description: "Run a script of a skill, or a program on its files, in a fresh copy of the skill. There is no " +
			"network and no shell, and only the printed output is kept. The command runs once: after an " +
			"interruption, its outcome is unknown."},
		func(ctx context.Context, a agent.Actor, in shellArgs) (library.CommandResult, error) {
			return s.Run(ctx, a, library.CommandArgs(in))
		})
}

type shellArgs library.CommandArgs

func (shellArgs) Bound(p map[string]*jsonschema.Schema) {
	p["skill_name"].MinLength = jsonschema.Ptr(1)
	p["parameters"].Types, p["parameters"].Type = nil, "array"
	p["parameters"].MaxItems = jsonschema.Ptr(100)
}
