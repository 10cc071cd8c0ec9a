package longterm

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
)

// NewMemory is a memory to be added.
type NewMemory struct {
	Index      int             `json:"index"` // in the caller's list
	Content    string          `json:"content"`
	WhenToUse  string          `json:"when_to_use,omitempty"` // of a guideline: the exact name of the tool
	Metadata   memory.Metadata `json:"metadata,omitempty"`
	EventTime  *time.Time      `json:"event_time,omitempty"`
	Importance float64         `json:"importance,omitempty"`
}

// ChangedMemory is a memory that says something else from now on.
type ChangedMemory struct {
	Index   int    `json:"index"`
	ID      string `json:"memory_id"`
	Content string `json:"content"`
	// is merged into what is there; null takes a member away
	Metadata memory.Metadata `json:"metadata,omitempty"`
	Expected *int            `json:"expected_version,omitempty"` // that the change was made on; nil for any
}

// DeleteRequest is a memory that is to be forgotten.
type DeleteRequest struct {
	Index int    `json:"index"`
	ID    string `json:"memory_id"`
}

// AddMemories adds memories to the actor's target. What the target's memories
// say already is not said twice; the guideline of a tool is replaced.
func (l *Service) AddMemories(ctx context.Context, a agent.Actor, in []NewMemory) ([]ItemResult, error) {
	refused, risky := make([]error, len(in)), make([]bool, len(in))
	var texts []string
	for i := range in {
		if risky[i], refused[i] = checkNew(&in[i], memory.Type(a.Subject.Type)); refused[i] == nil {
			text, _ := memory.Entry{Content: in[i].Content, WhenToUse: in[i].WhenToUse}.Embedded()
			texts = append(texts, text)
		}
	}
	return l.change(ctx, a, "add_memory", in, memorywrite.Vectors(ctx, l.Embedder, distinct(texts)),
		func(g *writing) error {
			s, err := g.scope(ctx, true)
			if err != nil {
				return err
			}
			if s.Type == memory.Identity {
				return fault.New(fault.OutOfScope, "the identity is one document, and has no entries",
					"use update_identity_memory")
			}
			for i, one := range in {
				item, err := ItemResult{}, refused[i]
				if err == nil {
					item, err = g.add(ctx, s, one, risky[i])
				}
				if err := g.done(one.Index, item, err); err != nil {
					return err
				}
			}
			return nil
		})
}

// checkNew normalises a memory and looks at all that it says. What only may be
// an attack is kept, as tainted.
func checkNew(m *NewMemory, t memory.Type) (risky bool, err error) {
	if m.Content, err = memory.NormaliseLong(m.Content); err != nil {
		return false, err
	}
	if m.WhenToUse, err = memory.NormaliseUse(m.WhenToUse); err != nil {
		return false, err
	}
	if t == memory.Guideline && m.WhenToUse == "" {
		return false, fault.New(fault.InvalidArgument, "when_to_use is missing",
			"give the exact name of the tool that the guideline is for")
	}
	m.Metadata = memory.Metadata{}.With(m.Metadata)
	if err := m.Metadata.Check(); err != nil {
		return false, err
	}
	return inspectAll(m.Content, m.WhenToUse, m.Metadata.Text())
}

func inspectAll(texts ...string) (risky bool, err error) {
	for _, text := range texts {
		risk, err := memorywrite.Inspect("the memory", text)
		if err != nil {
			return false, err
		}
		risky = risky || len(risk) > 0
	}
	return risky, nil
}

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (g *writing) add(ctx context.Context, s memory.Scope, m NewMemory, risky bool) (ItemResult, error) {
	known, found, err := g.known(ctx, s, m)
	if err != nil {
		return ItemResult{}, err
	}
	if found {
		if known.Content == m.Content {
			return ItemResult{ID: known.ID, Status: AlreadyExists}, g.refer(ctx, known.Key)
		}
		known.Content, known.Metadata = m.Content, known.Metadata.With(m.Metadata)
		return ItemResult{ID: known.ID, Status: Updated}, g.revise(ctx, &known, memory.Replace, risky)
	}
	e := memory.Entry{Type: s.Type, Target: s.Target, Content: m.Content, WhenToUse: m.WhenToUse,
		Metadata: g.stamped(m.Metadata), EventTime: m.EventTime, Importance: m.Importance,
		Author: g.w.Author, Tainted: g.tainted(risky)}
	if err := g.create(ctx, &e); err != nil {
		return ItemResult{}, err
	}
	return ItemResult{ID: e.ID, Status: memorywrite.Added}, nil
}

// stamp is what the caller of the run has its memories say.
func (g *writing) stamp() memory.Metadata { return g.a.Subject.Metadata }

// stamped adds the caller's metadata to a model's, which gives way when both are
// too large.
func (g *writing) stamped(m memory.Metadata) memory.Metadata {
	if both := m.With(g.stamp()); both.Check() == nil {
		return both
	}
	return memory.Metadata{}.With(g.stamp())
}

// CheckMetadata refuses metadata of a caller that no memory may have.
func CheckMetadata(m memory.Metadata) error {
	if err := m.Check(); err != nil {
		return err
	}
	_, err := memorywrite.Inspect("the metadata", m.Text())
	return err
}

// known is the entry in whose place a new one would stand.
func (g *writing) known(ctx context.Context, s memory.Scope, m NewMemory) (memory.Entry, bool, error) {
	if s.Type == memory.Guideline {
		return g.tx.Views().GuidelineOf(ctx, m.WhenToUse)
	}
	return g.tx.Views().Saying(ctx, s, m.Content)
}

// create adds an entry with the session of the call.
func (g *writing) create(ctx context.Context, e *memory.Entry) error {
	if g.a.Subject.History != "" {
		e.Histories = []string{g.a.Subject.History}
	}
	if err := g.tx.Memories().AddLongTerm(ctx, e, g.w); err != nil {
		return err
	}
	g.changed(*e)
	return g.refer(ctx, e.Key)
}

// revise writes a version of an entry that the call has changed.
func (g *writing) revise(ctx context.Context, e *memory.Entry, action memory.Action, risky bool) error {
	e.Tainted = !g.w.Person && (e.Tainted || g.tainted(risky))
	e.Author = g.w.Author
	if err := g.tx.Memories().Revise(ctx, e, action, g.w); err != nil {
		return err
	}
	g.changed(*e)
	return g.refer(ctx, e.Key)
}

func (g *writing) tainted(risky bool) bool {
	return g.w.Tainted || risky && g.a.Origin.Autonomous()
}

// UpdateMemories changes what memories of the actor's target say. Their ids,
// their sessions and what they are for stay.
func (l *Service) UpdateMemories(ctx context.Context, a agent.Actor, in []ChangedMemory) ([]ItemResult, error) {
	refused, risky := make([]error, len(in)), make([]bool, len(in))
	var texts []string
	for i := range in {
		var err error
		if in[i].Content, err = memory.NormaliseLong(in[i].Content); err == nil {
			if err = in[i].Metadata.Check(); err == nil {
				risky[i], err = inspectAll(in[i].Content, in[i].Metadata.Text())
			}
		}
		if refused[i] = err; err == nil {
			texts = append(texts, in[i].Content)
		}
	}
	return l.change(ctx, a, "update_memory", in, memorywrite.Vectors(ctx, l.Embedder, distinct(texts)),
		func(g *writing) error {
			for i, one := range in {
				item, err := ItemResult{}, refused[i]
				if err == nil {
					item, err = g.update(ctx, one, risky[i])
				}
				if err := g.done(one.Index, item, err); err != nil {
					return err
				}
			}
			return nil
		})
}

func (g *writing) update(ctx context.Context, m ChangedMemory, risky bool) (ItemResult, error) {
	e, err := g.own(ctx, m.ID)
	if err != nil {
		return ItemResult{}, err
	}
	if m.Expected != nil && *m.Expected != e.Version {
		return ItemResult{}, fault.New(fault.VersionConflict,
			fmt.Sprintf("memory %s is at version %d, not %d", e.ID, e.Version, *m.Expected),
			"read it again, then decide again")
	}
	next := g.stamp().With(e.Metadata).With(m.Metadata) // what it says already stays
	if err := next.Check(); err != nil {
		return ItemResult{}, err
	}
	if e.Content == m.Content && reflect.DeepEqual(next, memory.Metadata{}.With(e.Metadata)) {
		return ItemResult{ID: e.ID, Status: memorywrite.Unchanged}, g.refer(ctx, e.Key)
	}
	if e.Type != memory.Guideline && e.Type != memory.Summary {
		other, found, err := g.tx.Views().Saying(ctx, memory.Scope{Type: e.Type, Target: e.Target}, m.Content)
		if err != nil {
			return ItemResult{}, err
		}
		if found && other.Key != e.Key {
			return g.merge(ctx, e, other, m.Metadata, risky)
		}
	}
	e.Content, e.Metadata = m.Content, next
	return ItemResult{ID: e.ID, Status: Updated}, g.revise(ctx, &e, memory.Replace, risky)
}

// merge makes e part of other, which says already what e was to say.
func (g *writing) merge(ctx context.Context, e, other memory.Entry, change memory.Metadata, risky bool) (ItemResult,
	error) {
	both := other.Metadata.With(change)
	if err := both.Check(); err != nil {
		return ItemResult{}, err
	}
	e.Status, e.SupersededBy = memory.Superseded, other.ID
	if err := g.revise(ctx, &e, memory.Merge, risky); err != nil {
		return ItemResult{}, err
	}
	if err := g.tx.References().CopyReferences(ctx, e.Key, other.Key, g.a.Run); err != nil {
		return ItemResult{}, err
	}
	if len(change) > 0 {
		other.Metadata = both
		if err := g.revise(ctx, &other, memory.Replace, risky); err != nil {
			return ItemResult{}, err
		}
	}
	return ItemResult{ID: other.ID, Status: Merged, Merged: e.ID}, nil
}

// DeleteMemories takes memories of the actor's target out. What they said stays
// in their history.
func (l *Service) DeleteMemories(ctx context.Context, a agent.Actor, in []DeleteRequest) ([]ItemResult, error) {
	return l.change(ctx, a, "delete_memory", in, nil, func(g *writing) error {
		for _, one := range in {
			e, err := g.own(ctx, one.ID)
			if err == nil {
				e.Status = memory.Removed
				err = g.revise(ctx, &e, memory.Remove, false)
			}
			if err := g.done(one.Index, ItemResult{ID: e.ID, Status: Deleted}, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// own reads an active entry that the call may change.
func (g *writing) own(ctx context.Context, id string) (memory.Entry, error) {
	found, err := g.tx.Memories().LongTerm(ctx, []string{id})
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) == 0 {
		if _, session, err := g.tx.Sessions().History(ctx, id); err != nil || session {
			return memory.Entry{}, either(err, fault.New(fault.OutOfScope,
				fmt.Sprintf("%q is a session, and what was said stays", id), "use the id of a memory"))
		}
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("there is no memory %q", id),
			"look for it with vector_retrieve_memory and use the id that it shows")
	}
	e := found[0]
	if err := g.inScope(ctx, e); err != nil {
		return memory.Entry{}, err
	}
	switch {
	case e.Status == memory.Superseded:
		return memory.Entry{}, fault.New(fault.NotFound,
			fmt.Sprintf("memory %s has become part of %s", id, e.SupersededBy), "use that id")
	case e.Status != memory.Active:
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %s was deleted", id),
			"look for what is there now with vector_retrieve_memory")
	case g.shown != nil && !g.shown[e.Key]:
		return memory.Entry{}, fault.New(fault.OutOfScope, fmt.Sprintf("memory %s was not shown in this run", id),
			"look for it with vector_retrieve_memory first")
	}
	return e, nil
}

func (g *writing) inScope(ctx context.Context, e memory.Entry) error {
	if g.a.Subject.Type == "" && g.a.Origin == agent.OriginUser && slices.Contains(memory.LongTermTypes, e.Type) {
		return nil
	}
	if g.free && slices.Contains(spanTypes, e.Type) {
		return nil
	}
	s, err := g.scope(ctx, false)
	if err == nil && !s.Holds(e) {
		return fault.New(fault.OutOfScope, fmt.Sprintf("memory %s is not about %s", e.ID, s.Name()),
			"change only memories of this target")
	}
	return err
}

func either(err error, other error) error {
	if err != nil {
		return err
	}
	return other
}
