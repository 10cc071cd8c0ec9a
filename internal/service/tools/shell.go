package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/service/skillexec"
)

// Shell is the tool that runs commands of skills. Only the agent of a turn has
// it: whoever holds a key runs programs of his own.
func Shell(s *skillexec.Service) (Tool, error) {
	return New(agent.ToolSpec{Name: "execute_shell", Class: agent.Isolated, Origins: []agent.Origin{agent.OriginAgent},
		Set: agent.SetShell,
		Description: "Run a script of a skill, or a program over its files, on a fresh copy of them. There is no " +
			"network, no shell and nothing is kept but what is printed. It is run once: after an interruption " +
			"nobody knows how far it came."},
		func(ctx context.Context, a agent.Actor, in shellArgs) (skillexec.Ran, error) {
			return s.Run(ctx, a, skillexec.Args(in))
		})
}

type shellArgs skillexec.Args

func (shellArgs) Bound(p map[string]*jsonschema.Schema) {
	p["skill_name"].MinLength = jsonschema.Ptr(1)
	p["parameters"].Types, p["parameters"].Type = nil, "array"
	p["parameters"].MaxItems = jsonschema.Ptr(100)
}
