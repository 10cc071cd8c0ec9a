package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store    *store.Store
	Embedder search.Embedder
	Space    int16
	Spaces   search.Spaces // nil if Embedder and Space serve all workspaces
	Finder   search.Finder
}

// LongTermService stores long-term memories. These are entries about targets, which search finds,
// the targets themselves, the sessions from which entries were extracted, and the identity of the
// agent. Each change happens once per operation ID and can be undone. A lease ensures that one run
// at a time writes to a target.
//
//	items, err := service.AddMemories(ctx, actor, []longterm.NewMemory{{Content: "Prefers tea"}})
//	// items[0].Status is "added" or "already_exists"
type LongTermService struct{ Ports }

// NewLongTermService returns a service.
func NewLongTermService(p Ports) *LongTermService {
	return &LongTermService{Ports: p}
}

// spaces returns the embedding space of each workspace.
func (l *LongTermService) spaces() search.Spaces {
	return search.SpacesOr(l.Spaces, search.Space{ID: l.Space, Embedder: l.Embedder})
}

// embed returns the vectors of texts for a write of an actor.
func (l *LongTermService) embed(ctx context.Context, a agent.Actor, texts []string) memory.Embedded {
	return Embed(ctx, l.spaces(), a.Workspace, texts)
}

// ItemResult is the result of one item of a call.
type ItemResult struct {
	Index   int        `json:"index" jsonschema:"index of the item in the call, from 0"`
	ID      string     `json:"memory_id,omitempty"`
	Status  string     `json:"status" jsonschema:"action, or failed"`
	Merged  string     `json:"merged_id,omitempty" jsonschema:"duplicate memory that was merged into memory_id"`
	Code    fault.Code `json:"code,omitempty" jsonschema:"error code"`
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// Statuses of items, in addition to the actions of package memorywrite.
const (
	AlreadyExists = "already_exists"
	Updated       = "updated"
	Merged        = "merged"
	Deleted       = "deleted"
	Undone        = "undone"
	Failed        = "failed"
)

// FailedItem returns the result of an item that failed.
func FailedItem(index int, err error) ItemResult {
	f := fault.From(err)
	return ItemResult{Index: index, Status: Failed, Code: f.Code, Message: f.Message, Hint: f.Hint}
}

// AllFailed returns an error if all items of a call failed, else nil.
func AllFailed(items []ItemResult) error {
	if len(items) == 0 {
		return fault.New(fault.InvalidArgument, "call has no items", "send at least one item")
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
	return fault.New(code, "all items failed"+text, items[0].Hint)
}

// isItemError reports whether err concerns one item only. Other errors, such as database errors,
// fail the call.
func isItemError(err error) bool {
	f := fault.From(err)
	return f.Code != fault.Internal && !fault.Table[f.Code].Retryable
}

// writing is the state of one call that changes long-term memory.
type writing struct {
	*LongTermService
	tx    store.Tx
	a     agent.Actor
	w     memory.Writer
	dirty []memory.Entry // last state of each entry, in the order of first change
	items []ItemResult
	shown map[int64]bool // nil if the run may change its whole scope
	free  bool           // entries of any target may be changed, because the run has seen them
	here  *memory.Scope  // resolved scope of the call; nil resolves it when it is needed

	along *memory.Entry // stored together with the next entries
	went  *memory.Entry // that was stored together with others
}

// change runs effect once. It checks the fencing token, requires that at least one item succeeds,
// and indexes the changed entries.
func (l *LongTermService) change(ctx context.Context, a agent.Actor, name string, args any, vectors memory.Embedded,
	effect func(*writing) error) ([]ItemResult, error) {
	return Once(ctx, l.Store.InWorkspace, a, name, args,
		func(ctx context.Context, tx store.Tx) ([]ItemResult, error) {
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a).With(vectors)}
			g.w.Author = a.Subject.Author
			if err := g.checkFence(ctx); err != nil {
				return nil, err
			}
			if a.Subject.ShownOnly && a.Run != "" {
				var err error
				if g.shown, err = tx.LongTerm().Shown(ctx, a.Run, a.Op); err != nil {
					return nil, err
				}
			}
			if err := effect(g); err != nil {
				return nil, err
			}
			if err := AllFailed(g.items); err != nil {
				return nil, err
			}
			return g.items, tx.LongTerm().IndexLongTerm(ctx, g.dirty, g.w)
		})
}

// addResult appends the result of an item. Errors that do not concern the item fail the call.
func (g *writing) addResult(index int, i ItemResult, err error) error {
	if err != nil {
		if !isItemError(err) {
			return err
		}
		i = FailedItem(index, err)
	}
	i.Index = index
	g.items = append(g.items, i)
	return nil
}

// markDirty stores the last state of an entry for the index.
func (g *writing) markDirty(e memory.Entry) {
	if i := slices.IndexFunc(g.dirty, func(d memory.Entry) bool { return d.Key == e.Key }); i >= 0 {
		g.dirty[i] = e
		return
	}
	g.dirty = append(g.dirty, e)
}

// refer adds the session of the call to the sessions of entries.
func (g *writing) refer(ctx context.Context, keys ...int64) error {
	if g.a.Subject.History == "" {
		return nil
	}
	refs := make([]memory.Reference, len(keys))
	for i, key := range keys {
		refs[i] = memory.Reference{Memory: key, History: g.a.Subject.History}
	}
	return g.tx.LongTerm().Refer(ctx, refs, g.a.Run)
}

// scoped lists the types whose entries agents add to one target.
var scoped = []memory.Type{memory.Personal, memory.Procedural, memory.Guideline}

// scope returns the scope of the call. If make is set, scope registers an unknown target, because
// memories without a registered target cannot be found.
func (g *writing) scope(ctx context.Context, make bool) (memory.Scope, error) {
	if g.here != nil {
		return *g.here, nil
	}
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

// subject returns the actor's target as the actor names it.
func subject(a agent.Actor) (memory.Target, error) {
	t := memory.Type(a.Subject.Type)
	if !slices.Contains(scoped, t) && t != memory.Identity {
		return memory.Target{}, fault.New(fault.OutOfScope,
			fmt.Sprintf("invalid memory type %q", t), "use personal, procedural, tool or identity")
	}
	if fixed, ok := memory.FixedTarget(t); ok {
		return fixed, nil
	}
	return memory.NewTarget(t, a.Subject.Target)
}

// checkFence rejects a write if another run has taken the lease of the target.
func (g *writing) checkFence(ctx context.Context) error {
	if g.a.Subject.Fence == 0 {
		return nil
	}
	t, err := subject(g.a)
	if err != nil {
		return err
	}
	fence, err := g.tx.Leases().FenceOf(ctx, t.Scope())
	if err == nil && fence != g.a.Subject.Fence {
		return fault.New(fault.VersionConflict, fmt.Sprintf("%s is now leased by another writer", t.Scope().Name()),
			"end this run: the other run continues the work")
	}
	return err
}

// Sanitized returns an entry as models see it.
func Sanitized(e memory.Entry) memory.Entry {
	e.Content = Sanitize(string(e.Type), e.ID, e.Content)
	e.Earlier = slices.Clone(e.Earlier)
	for i, past := range e.Earlier {
		e.Earlier[i].Content = Sanitize(string(e.Type), e.ID, past.Content)
	}
	if e.WhenToUse != "" {
		e.WhenToUse = Sanitize(string(e.Type), e.ID, e.WhenToUse)
	}
	return e
}
