// Package longterm keeps what a workspace knows about its user: the prompt
// memories, which stand whole in every prompt and so have small budgets, and the
// soul. Every change happens once under the caller's operation id, is scanned
// before it is stored, keeps what it replaces, and tells how full the memory is.
//
//	written, err := keeper.Save(ctx, actor, remember.SaveArgs{Content: "Lives in Osaka", Store: "profile"})
//	// {"action":"added","store":"profile","ids":["9f0c…"],"usage_percent":2}
//
// Writes that a person should see first wait: the result says "staged", and
// nothing changes until Approve.
package longterm

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/service/search"
)

// Store opens transactions.
type Store interface {
	WithMemory(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Writer is who stands behind a write, and what goes with it.
type Writer struct {
	Origin   string
	Person   bool // somebody stands behind it who has seen what is written, which takes a taint away
	Tainted  bool
	Run      int64 // 0 outside of a run
	Op       string
	Evidence *memory.Evidence
	Vectors  map[string][]float32 // by text; what is missing is embedded later
	Space    int16
	Author   string // of long-term memories: model@prompt-hash
	Decision string // of memory skills, that led to the write
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder is the search of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// Keeper is the use-case.
type Keeper struct {
	Store    Store
	Embedder Embedder
	Space    int16
	Finder   Finder
}

// call is what an operation id stands for: the same id for another call, or with
// other arguments, is refused.
type call struct {
	Call string `json:"call"`
	Args any    `json:"args"`
}

// transaction is what every effect runs in.
type transaction interface{ Operations() OperationRepository }

// once runs effect once under the actor's operation id.
func once[T any](ctx context.Context, k *Keeper, a agent.Actor, name string, args any, effect func(context.Context, Tx) (T, error)) (T, error) {
	return onceIn(ctx, k.Store.WithMemory, a, name, args, effect)
}

func onceIn[T any, X transaction](ctx context.Context, within func(context.Context, int64, func(context.Context, X) error) error, a agent.Actor, name string, args any, effect func(context.Context, X) (T, error)) (out T, err error) {
	if a.Op == "" {
		return out, fault.New(fault.InvalidArgument, name+" was called without an operation id", "give each call an id of its own, and its retries the same one")
	}
	err = within(ctx, a.Workspace, func(ctx context.Context, tx X) error {
		return tx.Operations().Do(ctx, a.Op, call{name, args}, &out, func() (err error) {
			if err := tx.Operations().LockMemories(ctx); err != nil {
				return err
			}
			out, err = effect(ctx, tx)
			return err
		})
	})
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// writer is the actor as a write records it.
func (k *Keeper) writer(a agent.Actor) Writer { return writerOf(a, k.Space) }

func writerOf(a agent.Actor, space int16) Writer {
	person := a.Origin == agent.OriginUser
	w := Writer{Origin: string(a.Origin), Person: person, Tainted: a.Tainted && !person, Run: a.Run, Op: a.Op, Space: space}
	if a.Conversation != 0 {
		w.Evidence = &memory.Evidence{Conversation: a.Conversation, FromSeq: a.FromSeq, ToSeq: a.ToSeq}
	}
	return w
}

// embed gives no vectors while the embedder is down: they follow later.
func (k *Keeper) embed(ctx context.Context, texts []string) map[string][]float32 {
	return vectors(ctx, k.Embedder, texts)
}

func vectors(ctx context.Context, e Embedder, texts []string) map[string][]float32 {
	if len(texts) == 0 {
		return nil
	}
	vs, err := e.Embed(ctx, texts)
	if err != nil || len(vs) != len(texts) {
		return nil
	}
	out := map[string][]float32{}
	for i, text := range texts {
		out[text] = vs[i]
	}
	return out
}

// storeOf reads the name of a prompt memory; empty means core.
func storeOf(name string) (memory.Type, error) {
	switch t := memory.Type(name); t {
	case "":
		return memory.Core, nil
	case memory.Core, memory.Profile:
		return t, nil
	}
	return "", fault.New(fault.InvalidArgument, fmt.Sprintf("there is no store %q", name), "use core for what is true, profile for who the user is")
}

// budget is how many runes a prompt memory holds.
func budget(s settings.Settings, t memory.Type) int {
	if t == memory.Profile {
		return s.Limits.ProfileRunes
	}
	return s.Limits.CoreRunes
}

// person refuses whoever is not one.
func person(a agent.Actor, what string) error {
	if a.Origin != agent.OriginUser {
		return fault.New(fault.OutOfScope, fmt.Sprintf("%s is for people, not for %s", what, a.Origin), "leave it to the user")
	}
	return nil
}
