package memory

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// PromptPorts are the dependencies of the service.
type PromptPorts struct {
	Store    *store.Store
	Embedder search.Embedder
	Space    int16
	Spaces   search.Spaces // nil if Embedder and Space serve all workspaces
	Finder   search.Finder
}

// PromptService stores the memories that every prompt contains: the stores core and profile,
// which have small budgets, the notes of each day, and the soul. Each write happens once per
// operation ID, is scanned before it is stored, and reports how full the store is. The replaced
// text stays in the history.
//
//	written, err := service.Save(ctx, actor, promptmemory.SaveArgs{Content: "Lives in Osaka", Store: "profile"})
//	// {"action":"added","store":"profile","ids":["9f0c…"],"usage_percent":2}
//
// If a write needs approval, the result has action "staged". The write takes effect when Approve is
// called.
type PromptService struct{ PromptPorts }

// NewPromptService returns a service.
func NewPromptService(p PromptPorts) *PromptService {
	return &PromptService{PromptPorts: p}
}

// doOnce runs effect once per operation ID of the actor.
func doOnce[T any](ctx context.Context, k *PromptService, a agent.Actor, name string, args any,
	effect func(context.Context, store.Tx) (T, error)) (T, error) {
	return Once(ctx, k.Store.InWorkspace, a, name, args, effect)
}

// writer returns the Writer for an actor.
func (k *PromptService) writer(a agent.Actor) memory.Writer { return WriterFor(a) }

// embed returns the vectors of texts, or none if the embedder fails; an outbox task embeds them
// later.
func (k *PromptService) embed(ctx context.Context, ws int64, texts []string) memory.Embedded {
	s := search.SpacesOr(k.Spaces, search.Space{ID: k.Space, Embedder: k.Embedder})
	return Embed(ctx, s, ws, texts)
}

// storeOf returns the store with a name. An empty name means core.
func storeOf(name string) (memory.Type, error) {
	switch t := memory.Type(name); t {
	case "":
		return memory.Core, nil
	case memory.Core, memory.Profile:
		return t, nil
	}
	return "", fault.New(fault.InvalidArgument, fmt.Sprintf("invalid store %q", name),
		"use \"core\" for facts, \"profile\" for facts about the user")
}

// budget returns the size limit of a store, in runes.
func budget(s settings.Settings, t memory.Type) int {
	if t == memory.Profile {
		return s.Limits.ProfileRunes
	}
	return s.Limits.CoreRunes
}
