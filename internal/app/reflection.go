package app

import (
	"cmp"
	"context"
	"slices"

	"cairn/internal/adapter/launcher"
	"cairn/internal/adapter/postgres"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/reflection"
	"cairn/internal/service/tools"
)

// ReflectionSpec is the configuration that a new reflection is pinned to.
func ReflectionSpec(c config.Config) agentrun.Spec {
	s := TurnSpec(c)
	s.Model = cmp.Or(c.ModelReflection, c.ModelNudge, s.Model)
	return s
}

// registerReflection brings reflections into the loop: the tools of reviews, and
// before them the one that takes notes.
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
	h.Reflect, err = reflection.New(reflection.Ports{Store: h.Store.Reflections(), Keeper: h.Memory,
		Memory: promptContext{h.Memory, h.Library, h.LongTerm}, Tools: all, Log: h.Log})
	if err != nil {
		return err
	}
	h.AgentRuns.Agents[run.Reflection] = reflection.Agent{Service: h.Reflect}
	noting, err := tools.NewRegistry(notes...)
	h.AgentRuns.Agents[run.Flush] = agentrun.Flush{Notes: noting}
	return err
}

// distillDay has the conversations of a reflection distilled when there is enough
// in them that nobody has distilled yet, and remembered with memory skills where
// the workspace chose them: gate and marks are those of conversations that have
// gone idle.
func (h *App) distillDay(ctx context.Context, ref run.Ref, workspaceKey string) (out contract.DistillDayResult,
	err error) {
	conversations, err := h.Reflect.Conversations(ctx, ref)
	if err != nil {
		return out, err
	}
	for _, c := range conversations {
		in := contract.IdleInput{Workspace: ref.Workspace, WorkspaceKey: workspaceKey, Conversation: c}
		_, err := h.buildIdle(ctx, in)
		var id int64
		if err == nil {
			id, err = h.distillIdle(ctx, in)
		}
		if fault.CodeOf(err) == fault.NotFound { // it was erased meanwhile
			continue
		}
		if err != nil {
			return out, err
		}
		if id == 0 {
			continue
		}
		err = h.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q postgres.Tx) error {
			made, err := q.Runs().Run(ctx, id)
			if err == nil && made.Status != run.Ended {
				out.Distills = append(out.Distills,
					contract.DistillToStart{WorkflowID: made.WorkflowID, Conversation: made.Conversation,
						Input: launcher.DistillInput(workspaceKey, made)})
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
