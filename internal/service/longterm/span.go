package longterm

import (
	"context"
	"regexp"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
)

// SpanMemory is a memory that a span of a session brings.
type SpanMemory struct {
	NewMemory
	Type  memory.Type `json:"memory_type"` // Personal or Procedural
	About string      `json:"about"`       // who or what it is about; becomes a target when it is none yet
}

// SpanChanges are all that a span changes, each under an index of its own.
type SpanChanges struct {
	Deletes []DeleteRequest `json:"deletes,omitempty"`
	Updates []ChangedMemory `json:"updates,omitempty"`
	Inserts []SpanMemory    `json:"inserts,omitempty"`
}

// spanTypes are what a span can add and change.
var spanTypes = []memory.Type{memory.Personal, memory.Procedural}

// sameMeaning is the cosine from which a new memory says what another says.
const sameMeaning = 0.95

// ApplySpan does what a span changes, in one transaction: first what goes, then
// what is said otherwise, then what is new. Nothing is deleted for good. What is
// remembered already, by its text or nearly by its meaning, is not added again.
// An item that cannot be done says why and leaves the others alone.
func (l *Service) ApplySpan(ctx context.Context, a agent.Actor, in SpanChanges) ([]ItemResult, error) {
	refusedUpdates, riskyUpdates := make([]error, len(in.Updates)), make([]bool, len(in.Updates))
	refusedInserts, riskyInserts := make([]error, len(in.Inserts)), make([]bool, len(in.Inserts))
	var texts []string
	for i := range in.Updates {
		var err error
		if in.Updates[i].Content, err = memory.NormaliseLong(in.Updates[i].Content); err == nil {
			riskyUpdates[i], err = inspectAll(in.Updates[i].Content)
		}
		if refusedUpdates[i] = err; err == nil {
			texts = append(texts, in.Updates[i].Content)
		}
	}
	for i := range in.Inserts {
		if !slices.Contains(spanTypes, in.Inserts[i].Type) {
			refusedInserts[i] = fault.Newf(fault.InvalidArgument, "a span adds no memories of type %q",
				in.Inserts[i].Type)
			continue
		}
		if riskyInserts[i], refusedInserts[i] = checkNew(&in.Inserts[i].NewMemory,
			in.Inserts[i].Type); refusedInserts[i] == nil {
			texts = append(texts, in.Inserts[i].Content)
		}
	}
	found := memorywrite.Vectors(ctx, l.Embedder, distinct(texts))
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "apply_span", in,
		func(ctx context.Context, tx Tx) ([]ItemResult, error) {
			g := &writing{Service: l, tx: tx, a: a, w: memorywrite.WriterFor(a, l.Space), free: true}
			g.w.Vectors, g.w.Author, g.w.Decision = found, a.Subject.Author, a.Subject.Decision
			for _, one := range in.Deletes {
				e, err := g.own(ctx, one.ID)
				if err == nil {
					e.Status = memory.Removed
					err = g.revise(ctx, &e, memory.Remove, false)
				}
				if err := g.done(one.Index, ItemResult{ID: e.ID, Status: Deleted}, err); err != nil {
					return nil, err
				}
			}
			for i, one := range in.Updates {
				item, err := ItemResult{}, refusedUpdates[i]
				if err == nil {
					item, err = g.update(ctx, one, riskyUpdates[i])
				}
				if err := g.done(one.Index, item, err); err != nil {
					return nil, err
				}
			}
			for i, one := range in.Inserts {
				item, err := ItemResult{}, refusedInserts[i]
				if err == nil {
					item, err = g.addFromSpan(ctx, one, riskyInserts[i])
				}
				if err := g.done(one.Index, item, err); err != nil {
					return nil, err
				}
			}
			slices.SortStableFunc(g.items, func(x, y ItemResult) int { return x.Index - y.Index })
			return g.items, tx.References().IndexLongTerm(ctx, g.dirty, g.w)
		})
}

func (g *writing) addFromSpan(ctx context.Context, m SpanMemory, risky bool) (ItemResult, error) {
	t, err := memory.NewTarget(m.Type, m.About)
	if err != nil {
		return ItemResult{}, err
	}
	if t, _, err = g.target(ctx, t, true); err != nil {
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

// meaning finds an entry of the scope that says what content says, in the store
// or earlier in the call. Texts with other numbers say something else, however
// near they are: a vector hardly sees a day or an amount.
func (g *writing) meaning(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error) {
	vector := g.w.Vectors[content]
	if vector == nil { // the embedder is away: equal texts alone are found
		return memory.Entry{}, false, nil
	}
	for _, e := range g.dirty {
		if e.Status == memory.Active && s.Holds(e) && near(vector, g.w.Vectors[e.Content]) >= sameMeaning &&
			sameNumbers(e.Content, content) {
			return e, true, nil
		}
	}
	e, cosine, found, err := g.tx.References().Closest(ctx, s, vector, g.Space)
	if err != nil || !found || cosine < sameMeaning || !sameNumbers(e.Content, content) || e.Content == content {
		return memory.Entry{}, false, err // equal texts are for add to see
	}
	return e, true, nil
}

// near is the cosine of two vectors of unit length.
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
