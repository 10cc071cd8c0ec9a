// Package build builds memories of sessions with memory skills. It splits a session into spans. For
// each span, the policy chooses skills, a model proposes actions, and the permitted actions are
// applied in one transaction.
//
//	r, err := builds.Accept(ctx, build.Request{…}) // a session becomes memories
package build

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/live"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Memories writes long-term memories and sessions.
type Memories interface {
	AddRange(ctx context.Context, a agent.Actor, in memory.Evidence) (memory.History, error)
	ApplySpan(ctx context.Context, a agent.Actor, in memories.SpanChanges) ([]memories.ItemResult, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    *store.Store
	Banks    *bank.Service
	Encoder  bank.Encoder
	Asker    bank.Asker
	Executor executor.Executor // nil means the model of the build
	Memories Memories
	Updates  *live.Adaptation // returns the policy that is on canary
	Probes   *live.Probes     // accepts probes of finished builds
	Starter  bank.Starter
	Space    int16 // of the embedder's vectors
}

// Service builds memories.
type Service struct{ ports Ports }

// New returns a service.
func New(p Ports) *Service {
	if p.Executor == nil {
		p.Executor = bank.Executor{Asker: p.Asker}
	}
	return &Service{p}
}
