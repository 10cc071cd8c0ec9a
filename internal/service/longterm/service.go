// Package longterm keeps long-term memories: entries about targets that search
// finds, the targets themselves, the sessions that entries were drawn from, and
// the agent's identity. Every change happens once under the caller's operation ID
// and can be undone. One run at a time writes to a target, under a lease.
package longterm

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/ports"
	"cairn/internal/service/memorywrite"
)

// Store opens transactions.
type Store interface {
	WithLongTerm(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Ports are what the service works with.
type Ports struct {
	Store    Store
	Embedder memorywrite.Embedder
	Space    int16
	Finder   memorywrite.Finder
}

// Service is the use-case over what is remembered about targets, sessions and
// the agent itself.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("longterm", map[string]any{"Store": p.Store, "Embedder": p.Embedder, "Finder": p.Finder})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// ItemResult is what became of one item of a call.
type ItemResult struct {
	Index   int        `json:"index" jsonschema:"place of the item in the call, from 0"`
	ID      string     `json:"memory_id,omitempty"`
	Status  string     `json:"status" jsonschema:"what was done, or failed"`
	Merged  string     `json:"merged_id,omitempty" jsonschema:"the memory that said the same and is now part of memory_id"`
	Code    fault.Code `json:"code,omitempty" jsonschema:"why it failed"`
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// What became of an item, beside the words of prompt memories.
const (
	AlreadyExists = "already_exists"
	Updated       = "updated"
	Merged        = "merged"
	Deleted       = "deleted"
	Restored      = "restored"
	Undone        = "undone"
	Failed        = "failed"
)

// FailedItem is an item that could not be done.
func FailedItem(index int, err error) ItemResult {
	f := fault.From(err)
	return ItemResult{Index: index, Status: Failed, Code: f.Code, Message: f.Message, Hint: f.Hint}
}

// AllFailed is the error of a call none of whose items could be done, nil when
// one could.
func AllFailed(items []ItemResult) error {
	if len(items) == 0 {
		return fault.New(fault.InvalidArgument, "there is nothing to do in the call", "send at least one item")
	}
	code, text := items[0].Code, ""
	for _, i := range items {
		if i.Status != Failed {
			return nil
		}
		if i.Code != code {
			code = fault.InvalidArgument
		}
		text += fmt.Sprintf("; item %d: %s: %s", i.Index, i.Code, i.Message)
	}
	if len(items) == 1 {
		return fault.New(code, items[0].Message, items[0].Hint)
	}
	return fault.New(code, "nothing was done"+text, items[0].Hint)
}

// mine tells whether err is about one item, and not about the database.
func mine(err error) bool {
	f := fault.From(err)
	return f.Code != fault.Internal && !fault.Table[f.Code].Retryable
}

// writing is one call that changes long-term memory.
type writing struct {
	*Service
	tx    Tx
	a     agent.Actor
	w     memorywrite.Writer
	dirty []memory.Entry // last state of each entry, in the order of their first change
	items []ItemResult
	shown map[int64]bool // nil when the run may change all of its scope
	free  bool           // entries of any target may be changed: the run was shown them itself
}

// change runs effect once, with every rule that all writes have: the fence, the
// index, and that something was done.
func (l *Service) change(ctx context.Context, a agent.Actor, name string, args any, vectors map[string][]float32,
	effect func(*writing) error) ([]ItemResult, error) {
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, name, args,
		func(ctx context.Context, tx Tx) ([]ItemResult, error) {
			g := &writing{Service: l, tx: tx, a: a, w: memorywrite.WriterFor(a, l.Space)}
			g.w.Vectors, g.w.Author = vectors, a.Subject.Author
			if err := g.fenced(ctx); err != nil {
				return nil, err
			}
			if a.Subject.ShownOnly && a.Run != 0 {
				var err error
				if g.shown, err = tx.Views().Shown(ctx, a.Run, a.Op); err != nil {
					return nil, err
				}
			}
			if err := effect(g); err != nil {
				return nil, err
			}
			if err := AllFailed(g.items); err != nil {
				return nil, err
			}
			return g.items, tx.References().IndexLongTerm(ctx, g.dirty, g.w)
		})
}

// done keeps what became of an item; trouble of the database ends the call.
func (g *writing) done(index int, i ItemResult, err error) error {
	if err != nil {
		if !mine(err) {
			return err
		}
		i = FailedItem(index, err)
	}
	i.Index = index
	g.items = append(g.items, i)
	return nil
}

// changed remembers the state that is to be found.
func (g *writing) changed(e memory.Entry) {
	if i := slices.IndexFunc(g.dirty, func(d memory.Entry) bool { return d.Key == e.Key }); i >= 0 {
		g.dirty[i] = e
		return
	}
	g.dirty = append(g.dirty, e)
}

// refer adds the session of the call to those that the entry was drawn from.
func (g *writing) refer(ctx context.Context, key int64) error {
	if g.a.Subject.History == "" {
		return nil
	}
	return g.tx.References().Refer(ctx, key, g.a.Subject.History, g.a.Run)
}

// scoped are the types whose entries an agent adds to one target.
var scoped = []memory.Type{memory.Personal, memory.Procedural, memory.Guideline}

// scope is what the call is about. A target that is not there yet is made when
// make is set, so that nothing is remembered where no line leads.
func (g *writing) scope(ctx context.Context, make bool) (memory.Scope, error) {
	t, err := subject(g.a)
	if err != nil {
		return memory.Scope{}, err
	}
	if _, fixed := memory.FixedTarget(t.Type); fixed {
		return t.Scope(), nil
	}
	t, _, err = g.target(ctx, t, make)
	return t.Scope(), err
}

// subject is the actor's target as it is written.
func subject(a agent.Actor) (memory.Target, error) {
	t := memory.Type(a.Subject.Type)
	if !slices.Contains(scoped, t) && t != memory.Identity {
		return memory.Target{}, fault.New(fault.OutOfScope,
			fmt.Sprintf("this call has no scope of memories: its type is %q", t), "leave it to an agent that has one")
	}
	if fixed, ok := memory.FixedTarget(t); ok {
		return fixed, nil
	}
	return memory.NewTarget(t, a.Subject.Target)
}

// fenced refuses a write whose lease on the target has gone to another.
func (g *writing) fenced(ctx context.Context) error {
	if g.a.Subject.Fence == 0 {
		return nil
	}
	s, err := g.leased(ctx, g.a)
	if err != nil {
		return err
	}
	fence, err := g.tx.Leases().FenceOf(ctx, s)
	if err == nil && fence != g.a.Subject.Fence {
		return fault.New(fault.VersionConflict, fmt.Sprintf("%s has another writer now", s.Name()),
			"end this run: the other has what it needs")
	}
	return err
}

func (g *writing) leased(ctx context.Context, a agent.Actor) (memory.Scope, error) {
	t, err := subject(a)
	if err != nil {
		return memory.Scope{}, err
	}
	if known, found, err := g.tx.Targets().FindTarget(ctx, t); err != nil || found {
		return known.Scope(), err
	}
	return t.Scope(), nil
}

// Sanitised is an entry as models are shown it.
func Sanitised(e memory.Entry) memory.Entry {
	e.Content = memorywrite.Sanitize(string(e.Type), e.ID, e.Content)
	if e.WhenToUse != "" {
		e.WhenToUse = memorywrite.Sanitize(string(e.Type), e.ID, e.WhenToUse)
	}
	return e
}
