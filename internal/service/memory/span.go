package memory

import (
	"context"
	"regexp"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// SpanMemory is a memory that is extracted from a span of a session.
type SpanMemory struct {
	NewMemory
	Type  memory.Type `json:"memory_type"` // Personal or Procedural
	About string      `json:"about"`       // subject; registered as a target if it is unknown
}

// SpanChanges are all changes of a span. Indexes are unique across the three lists.
type SpanChanges struct {
	Deletes []DeleteRequest `json:"deletes,omitempty"`
	Updates []ChangedMemory `json:"updates,omitempty"`
	Inserts []SpanMemory    `json:"inserts,omitempty"`
}

// spanTypes are the types that a span can add and change.
var spanTypes = []memory.Type{memory.Personal, memory.Procedural}

// sameMeaning is the cosine similarity from which two memories are duplicates.
const sameMeaning = 0.95

// ApplySpan applies the changes of a span in one transaction: deletes, then updates, then inserts.
// Deleted memories can be restored. Inserts that duplicate a memory, by text or by meaning, are
// skipped. A failed item has an error in its result and does not affect the others.
func (l *LongTermService) ApplySpan(ctx context.Context, a agent.Actor, in SpanChanges) ([]ItemResult, error) {
	refusedInserts, riskyInserts := make([]error, len(in.Inserts)), make([]bool, len(in.Inserts))
	texts, riskyUpdates, refusedUpdates := examineChanges(in.Updates)
	for i := range in.Inserts {
		if !slices.Contains(spanTypes, in.Inserts[i].Type) {
			refusedInserts[i] = fault.Newf(fault.InvalidArgument, "invalid memory type %q: want personal or procedural",
				in.Inserts[i].Type)
			continue
		}
		if riskyInserts[i], refusedInserts[i] = checkNew(&in.Inserts[i].NewMemory,
			in.Inserts[i].Type); refusedInserts[i] == nil {
			texts = append(texts, in.Inserts[i].Content)
		}
	}
	found := l.embed(ctx, a, distinct(texts))
	return Once(ctx, l.Store.InWorkspace, a, "apply_span", in,
		func(ctx context.Context, tx store.Tx) ([]ItemResult, error) {
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a).With(found), free: true}
			g.w.Author, g.w.Decision = a.Subject.Author, a.Subject.Decision
			if err := g.edit(ctx, in.Deletes, in.Updates, refusedUpdates, riskyUpdates); err != nil {
				return nil, err
			}
			for i, one := range in.Inserts {
				item, err := ItemResult{}, refusedInserts[i]
				if err == nil {
					item, err = g.addFromSpan(ctx, one, riskyInserts[i])
				}
				if err := g.addResult(one.Index, item, err); err != nil {
					return nil, err
				}
			}
			slices.SortStableFunc(g.items, func(x, y ItemResult) int { return x.Index - y.Index })
			return g.items, tx.LongTerm().IndexLongTerm(ctx, g.dirty, g.w)
		})
}

// edit deletes and then updates memories. refused and risky are what their scan has found.
func (g *writing) edit(ctx context.Context, deletes []DeleteRequest, updates []ChangedMemory, refused []error,
	risky []bool) error {
	for _, one := range deletes {
		e, err := g.editable(ctx, one.ID)
		if err == nil {
			e.Status = memory.Removed
			err = g.revise(ctx, &e, memory.Remove, false)
		}
		if err := g.addResult(one.Index, ItemResult{ID: e.ID, Status: Deleted}, err); err != nil {
			return err
		}
	}
	for i, one := range updates {
		item, err := ItemResult{}, refused[i]
		if err == nil {
			item, err = g.update(ctx, one, risky[i])
		}
		if err := g.addResult(one.Index, item, err); err != nil {
			return err
		}
	}
	return nil
}

// examineChanges normalizes and scans the contents of changes.
func examineChanges(in []ChangedMemory) (texts []string, risky []bool, refused []error) {
	risky, refused = make([]bool, len(in)), make([]error, len(in))
	for i := range in {
		var err error
		if in[i].Content, err = memory.NormalizeLong(in[i].Content); err == nil {
			risky[i], err = inspectAll(in[i].Content)
		}
		if refused[i] = err; err == nil {
			texts = append(texts, in[i].Content)
		}
	}
	return texts, risky, refused
}

func (g *writing) addFromSpan(ctx context.Context, m SpanMemory, risky bool) (ItemResult, error) {
	t, err := memory.NamedTarget(m.Type, m.About)
	if err != nil {
		return ItemResult{}, err
	}
	if t, _, err = g.named(ctx, t, m.About, true); err != nil {
		return ItemResult{}, err
	}
	s := t.Scope()
	if e, found, err := g.meaning(ctx, s, m.Content); err != nil || found {
		if err != nil {
			return ItemResult{}, err
		}
		return ItemResult{ID: e.ID, Status: AlreadyExists}, g.refer(ctx, e.Key)
	}
	return g.add(ctx, s, m.NewMemory, risky)
}

// meaning finds an entry of the scope with the same meaning, in the store or earlier in the call.
// Texts with different numbers are never duplicates, because vectors hardly distinguish dates and
// amounts.
func (g *writing) meaning(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error) {
	vector := g.w.Vectors[content]
	if vector == nil { // the embedder failed: only equal texts are found
		return memory.Entry{}, false, nil
	}
	for _, e := range g.dirty {
		if e.Status == memory.Active && s.Holds(e) && near(vector, g.w.Vectors[e.Content]) >= sameMeaning &&
			sameNumbers(e.Content, content) {
			return e, true, nil
		}
	}
	e, cosine, found, err := g.tx.Documents().Closest(ctx, s, vector, g.w.Space)
	if err != nil || !found || cosine < sameMeaning || !sameNumbers(e.Content, content) || e.Content == content {
		return memory.Entry{}, false, err // add handles equal texts
	}
	return e, true, nil
}

// near returns the cosine similarity of two unit vectors.
func near(a, b []float32) (dot float64) {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

var digits = regexp.MustCompile(`\d+`)

func sameNumbers(a, b string) bool {
	return slices.Equal(digits.FindAllString(a, -1), digits.FindAllString(b, -1))
}
