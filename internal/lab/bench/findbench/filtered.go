package findbench

import (
	"cmp"
	"context"
	"slices"

	"cairn/internal/domain/memory"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
)

// filtered returns the fraction of the memories of a type that are nearest to the questions which a
// search with a filter finds by vector. The nearest ones are computed here, not by the database.
func (b *Bench) filtered(ctx context.Context, of memory.Type) (float64, error) {
	ids, vectors, err := b.ofType(ctx, of)
	if err != nil {
		return 0, err
	}
	var want, got [][]int64
	for i := range queries {
		_, question := b.question(i)
		v, err := b.vector(ctx, question)
		if err != nil {
			return 0, err
		}
		order := make([]int, len(ids))
		similarity := make([]float32, len(ids))
		for n := range order {
			order[n], similarity[n] = n, dot(v, vectors[n])
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(similarity[b], similarity[a]) })
		var nearest []int64
		for _, n := range order[:limit] {
			nearest = append(nearest, ids[n])
		}
		request := search.Request{Query: question, Types: []memory.Type{of}}
		found, err := b.App.Finder.ByVector(ctx, b.ids[0], request, limit)
		if err != nil {
			return 0, err
		}
		want, got = append(want, nearest), append(got, found)
	}
	return shared(want, got), nil
}

// ofType returns the documents of a type in the first workspace and their vectors, which have length 1.
func (b *Bench) ofType(ctx context.Context, of memory.Type) (ids []int64, vectors [][]float32, err error) {
	_, texts := memories(corpus.NewTopics(0, b.Memories, textSeed), 0, b.Memories)
	var chosen []string
	for n, text := range texts {
		if typeOf(n) == of {
			ids, chosen = append(ids, int64(n)+1), append(chosen, text)
		}
	}
	vectors, err = b.App.Embedder.Embed(ctx, chosen)
	return ids, vectors, err
}

func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
