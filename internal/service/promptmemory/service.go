// Package promptmemory keeps the memories that stand whole in every prompt: the
// stores core and profile, which have small budgets, notes, and the soul. Every
// change happens once under the caller's operation ID, is scanned before it is
// stored, keeps what it replaces, and reports how full the store is.
//
//	written, err := service.Save(ctx, actor, promptmemory.SaveArgs{Content: "Lives in Osaka", Store: "profile"})
//	// {"action":"added","store":"profile","ids":["9f0c…"],"usage_percent":2}
//
// If a write needs approval, the result says "staged", and nothing changes until
// Approve.
package promptmemory

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memorywrite"
)

// Store opens transactions.
type Store interface {
	WithMemory(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Ports are what the service works with.
type Ports struct {
	Store    Store
	Embedder memorywrite.Embedder
	Space    int16
	Finder   memorywrite.Finder
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("promptmemory", map[string]any{"Store": p.Store, "Embedder": p.Embedder, "Finder": p.Finder})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// doOnce runs effect once under the actor's operation id.
func doOnce[T any](ctx context.Context, k *Service, a agent.Actor, name string, args any,
	effect func(context.Context, Tx) (T, error)) (T, error) {
	return memorywrite.Once(ctx, k.Store.WithMemory, a, name, args, effect)
}

// writer is the actor as a write records it.
func (k *Service) writer(a agent.Actor) memorywrite.Writer { return memorywrite.WriterFor(a, k.Space) }

// embed gives no vectors while the embedder is down: they follow later.
func (k *Service) embed(ctx context.Context, texts []string) map[string][]float32 {
	return memorywrite.Vectors(ctx, k.Embedder, texts)
}

// storeOf reads the name of a prompt memory; empty means core.
func storeOf(name string) (memory.Type, error) {
	switch t := memory.Type(name); t {
	case "":
		return memory.Core, nil
	case memory.Core, memory.Profile:
		return t, nil
	}
	return "", fault.New(fault.InvalidArgument, fmt.Sprintf("there is no store %q", name),
		"use core for what is true, profile for who the user is")
}

// budget is how many runes a prompt memory holds.
func budget(s settings.Settings, t memory.Type) int {
	if t == memory.Profile {
		return s.Limits.ProfileRunes
	}
	return s.Limits.CoreRunes
}
