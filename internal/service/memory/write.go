package memory

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// NewMemory is a memory to add.
type NewMemory struct {
	Index      int             `json:"index"` // in the caller's list
	Content    string          `json:"content"`
	WhenToUse  string          `json:"when_to_use,omitempty"` // of a guideline: exact name of the tool
	Metadata   memory.Metadata `json:"metadata,omitempty"`
	EventTime  *time.Time      `json:"event_time,omitempty"`
	Importance float64         `json:"importance,omitempty"`
	// messages that it was drawn from; nil means those of the actor
	Evidence *memory.Evidence `json:"evidence,omitempty"`
}

// ChangedMemory is a change of a memory.
type ChangedMemory struct {
	Index   int    `json:"index"`
	ID      string `json:"memory_id"`
	Content string `json:"content"`
	// merged into the stored metadata; null removes a member
	Metadata memory.Metadata `json:"metadata,omitempty"`
	Expected *int            `json:"expected_version,omitempty"` // version on which the change is based; nil for any
	// time of the event; nil keeps the stored one
	EventTime *time.Time `json:"event_time,omitempty"`
	// time until which the former content was valid; nil if the change corrects it
	Ends *time.Time `json:"ends,omitempty"`
	// messages that it was drawn from; nil means those of the actor
	Evidence *memory.Evidence `json:"evidence,omitempty"`
}

// DeleteRequest is a memory to delete.
type DeleteRequest struct {
	Index int    `json:"index"`
	ID    string `json:"memory_id"`
}

// stamp returns the metadata that the caller of the run adds to its memories.
func (g *writing) stamp() memory.Metadata { return g.a.Subject.Metadata }

// stamped adds the caller's metadata to a model's. If the result is too large, the model's metadata
// is dropped.
func (g *writing) stamped(m memory.Metadata) memory.Metadata {
	if both := m.With(g.stamp()); both.Check() == nil {
		return both
	}
	return memory.Metadata{}.With(g.stamp())
}

// CheckMetadata returns an error if a memory cannot have the metadata.
func CheckMetadata(m memory.Metadata) error {
	if err := m.Check(); err != nil {
		return err
	}
	_, err := memory.Inspect("the metadata", m.Text())
	return err
}

// revise writes the next version of an entry. Doubtful text of an unattended run is refused, because
// staging it would hide the version that is in use.
func (g *writing) revise(ctx context.Context, e *memory.Entry, action memory.Action, risky bool) error {
	if action == memory.Replace && g.status(risky) == memory.Quarantined {
		return fault.New(fault.BlockedContent, "the text looks like an attack, and no person reads this run",
			"keep the memory as it is, or add the text as a new memory, which waits for approval")
	}
	e.Tainted = !g.w.Person && (e.Tainted || g.w.Tainted)
	e.Author = g.w.Author
	if err := g.tx.LongTerm().Revise(ctx, e, action, g.w); err != nil {
		return err
	}
	if act, recorded := ConsoleAct(ctx, action); recorded {
		if err := g.tx.Operations().Record(ctx, act, "memory "+e.ID); err != nil {
			return err
		}
	}
	g.markDirty(*e)
	return g.refer(ctx, e.Key)
}

// status returns the status of a new entry. Doubtful text of an unattended run stays in quarantine,
// where no model sees it, until a user restores it.
func (g *writing) status(risky bool) memory.Status {
	if risky && g.a.Origin.Autonomous() {
		return memory.Quarantined
	}
	return memory.Active
}

// UpdateMemories changes the content and metadata of memories of the actor's target. Their IDs,
// sessions and WhenToUse stay the same.
func (l *LongTermService) UpdateMemories(ctx context.Context, a agent.Actor, in []ChangedMemory) ([]ItemResult, error) {
	refused, risky := make([]error, len(in)), make([]bool, len(in))
	var texts []string
	for i := range in {
		var err error
		if in[i].Content, err = memory.NormalizeLong(in[i].Content); err == nil {
			if err = in[i].Metadata.Check(); err == nil {
				risky[i], err = inspectAll(in[i].Content, in[i].Metadata.Text())
			}
		}
		if refused[i] = err; err == nil {
			texts = append(texts, in[i].Content)
		}
	}
	return l.change(ctx, a, "update_memory", in, l.embed(ctx, a, distinct(texts)),
		func(g *writing) error {
			for i, one := range in {
				item, err := ItemResult{}, refused[i]
				if err == nil {
					item, err = g.update(ctx, one, risky[i])
				}
				if err := g.addResult(one.Index, item, err); err != nil {
					return err
				}
			}
			return nil
		})
}

func (g *writing) update(ctx context.Context, m ChangedMemory, risky bool) (ItemResult, error) {
	e, err := g.editable(ctx, m.ID)
	if err != nil {
		return ItemResult{}, err
	}
	if m.Expected != nil && *m.Expected != e.Version {
		return ItemResult{}, fault.New(fault.VersionConflict,
			fmt.Sprintf("memory %s is at version %d, not %d", e.ID, e.Version, *m.Expected),
			"read the current version, then send the change again")
	}
	next := g.stamp().With(e.Metadata).With(m.Metadata) // members that the change does not name stay
	if err := next.Check(); err != nil {
		return ItemResult{}, err
	}
	if e.Content == m.Content && reflect.DeepEqual(next, memory.Metadata{}.With(e.Metadata)) {
		return ItemResult{ID: e.ID, Status: Unchanged}, g.refer(ctx, e.Key)
	}
	if e.Type != memory.Guideline && e.Type != memory.Summary {
		other, found, err := g.tx.LongTerm().Saying(ctx, memory.Scope{Type: e.Type, Target: e.Target}, m.Content)
		if err != nil {
			return ItemResult{}, err
		}
		if found && other.Key != e.Key {
			return g.merge(ctx, e, other, m.Metadata, risky)
		}
	}
	if m.EventTime != nil {
		e.EventTime = m.EventTime
	}
	if m.Ends != nil && e.Content != m.Content {
		e.Earlier = append(e.Earlier, memory.Earlier{Content: e.Content, ValidUntil: *m.Ends})
	}
	e.Content, e.Metadata = m.Content, next
	w := g.w
	g.w.ValidUntil, g.w.Evidence = m.Ends, cmp.Or(m.Evidence, w.Evidence)
	err = g.revise(ctx, &e, memory.Replace, risky)
	g.w = w
	return ItemResult{ID: e.ID, Status: Updated}, err
}

// merge supersedes e by other, which already has the new content of e.
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
	if err := g.tx.LongTerm().CopyReferences(ctx, e.Key, other.Key, g.a.Run); err != nil {
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

// DeleteMemories deletes memories of the actor's target. Their history is kept.
func (l *LongTermService) DeleteMemories(ctx context.Context, a agent.Actor, in []DeleteRequest) ([]ItemResult, error) {
	return l.change(ctx, a, "delete_memory", in, memory.Embedded{}, func(g *writing) error {
		for _, one := range in {
			e, err := g.editable(ctx, one.ID)
			if err == nil {
				e.Status = memory.Removed
				err = g.revise(ctx, &e, memory.Remove, false)
			}
			if err := g.addResult(one.Index, ItemResult{ID: e.ID, Status: Deleted}, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// editable reads an active entry that the call may change.
func (g *writing) editable(ctx context.Context, id string) (memory.Entry, error) {
	found, err := g.tx.LongTerm().LongTerm(ctx, []string{id})
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) == 0 {
		if _, session, err := g.tx.Histories().History(ctx, id); err != nil || session {
			return memory.Entry{}, either(err, fault.New(fault.OutOfScope,
				fmt.Sprintf("cannot change session %q", id), "use the ID of a memory"))
		}
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %q not found", id),
			"search for the memory and use an ID from the result")
	}
	e := found[0]
	if err := g.inScope(ctx, e); err != nil {
		return memory.Entry{}, err
	}
	switch {
	case e.Status == memory.Superseded:
		return memory.Entry{}, fault.New(fault.NotFound,
			fmt.Sprintf("memory %s was merged into %s", id, e.SupersededBy), "use the ID of the other memory")
	case e.Status != memory.Active:
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %s was deleted", id),
			"search for current memories")
	case g.shown != nil && !g.shown[e.Key]:
		return memory.Entry{}, fault.New(fault.OutOfScope, fmt.Sprintf("memory %s was not shown in this run", id),
			"search for it first")
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
		return fault.New(fault.OutOfScope, fmt.Sprintf("memory %s does not belong to %s", e.ID, s.Name()),
			"change only memories of the target of this run")
	}
	return err
}

func either(err error, other error) error {
	if err != nil {
		return err
	}
	return other
}
