package app

import (
	"cmp"
	"slices"

	"cairn/internal/app/config"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/reflection"
	"cairn/internal/service/tools"
)

// ReflectionSpec returns the configuration that a new reflection stores.
func ReflectionSpec(c config.Config) agentrun.Spec {
	s := TurnSpec(c)
	s.Model = cmp.Or(c.ModelReflection, c.ModelNudge, s.Model)
	return s
}

// registerReflection registers reflections in the agent loop. Their tools are the note tool and the
// tools of reviews.
func (h *App) registerReflection() error {
	notes, err := tools.Notes(h.Memory)
	if err != nil {
		return err
	}
	usual, err := h.usual()
	if err != nil {
		return err
	}
	all, err := tools.NewRegistry(slices.Concat(notes, usual)...)
	if err != nil {
		return err
	}
	h.Reflect = reflection.New(reflection.Ports{Store: h.Store, Keeper: h.Memory,
		Memory: promptContext{h.Memory, h.Library, h.LongTerm}, Tools: all, Log: h.Log})
	h.AgentRuns.Agents[run.Reflection] = reflection.Agent{Service: h.Reflect}
	noteTools, err := tools.NewRegistry(notes...)
	h.AgentRuns.Agents[run.Flush] = agentrun.Flush{Notes: noteTools}
	return err
}
