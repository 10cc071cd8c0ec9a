package bank

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
)

// item is one memory of an episode.
type item struct {
	id        string
	content   string
	vector    []float32
	decisions []string // decisions that wrote it, oldest first
	deleted   bool
}

// apply applies actions to the memory of the episode, in the same way as longterm.ApplySpan.
func (g *game) apply(ctx context.Context, actions []executor.ResolvedAction, decision string) error {
	vectors, err := g.actionVectors(ctx, actions)
	if err != nil {
		return err
	}
	find := func(id string) *item {
		return g.items[slices.IndexFunc(g.items, func(i *item) bool { return i.id == id })]
	}
	for _, kind := range []memoryskill.Action{memoryskill.Delete, memoryskill.Update, memoryskill.Insert} {
		for i := range actions {
			a := &actions[i]
			if a.Outcome != executor.OK || a.Type != kind {
				continue
			}
			switch kind {
			case memoryskill.Delete:
				find(a.Memory).deleted = true
			case memoryskill.Update:
				old := find(a.Memory)
				old.content, old.vector, old.decisions = a.Content, vectors[i], append(old.decisions, decision)
			case memoryskill.Insert:
				if slices.ContainsFunc(g.items, func(o *item) bool { return o.says(a.Content, vectors[i]) }) {
					a.Outcome = executor.Duplicate
					continue
				}
				a.Memory = fmt.Sprintf("%s-%d", decision, i)
				g.items = append(g.items, &item{id: a.Memory, content: a.Content, vector: vectors[i],
					decisions: []string{decision}})
			}
		}
	}
	return nil
}

// actionVectors returns the vectors of the contents of actions, by index.
func (g *game) actionVectors(ctx context.Context, actions []executor.ResolvedAction) (map[int][]float32, error) {
	var texts []string
	var places []int
	for i, a := range actions {
		if a.Outcome == executor.OK && a.Type != memoryskill.Delete {
			texts, places = append(texts, a.Content), append(places, i)
		}
	}
	vectors, err := g.Encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := map[int][]float32{}
	for n, i := range places {
		out[i] = vectors[n]
	}
	return out, nil
}

// says reports whether the memory duplicates a content.
func (o *item) says(content string, vector []float32) bool {
	return !o.deleted && (o.content == content ||
		cosine(o.vector, vector) >= sameMeaning && sameNumbers(o.content, content))
}

// nearest returns the items with the nearest vectors; of equals, the oldest first.
func nearest(items []*item, to []float32, most int) []*item {
	type scored struct {
		*item
		cosine float64
	}
	var all []scored
	for _, i := range items {
		if !i.deleted {
			all = append(all, scored{i, cosine(i.vector, to)})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.cosine, a.cosine) })
	var out []*item
	for _, one := range all[:min(most, len(all))] {
		out = append(out, one.item)
	}
	return out
}
