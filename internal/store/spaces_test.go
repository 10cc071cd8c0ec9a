package store_test

import (
	"context"
	"sync"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestTwoEmbeddingSpacesLiveSideBySide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	small, err := b.Space(t.Context(), "small", 2)
	testkit.Must(t, err)
	large, err := b.Space(t.Context(), "large", 3)
	testkit.Must(t, err)
	var first, second int64
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		first = b.index(ctx, q, 1, "first")
		second = b.index(ctx, q, 2, "second")
		for doc, vs := range map[int64][2][]float32{first: {{1, 0}, {0, 0, 1}}, second: {{0, 1}, {1, 0, 0}}} {
			testkit.Must(t, q.Documents().PutEmbedding(ctx, doc, small, vs[0]))
			testkit.Must(t, q.Documents().PutEmbedding(ctx, doc, large, vs[1]))
		}
		return nil
	})
	for _, ask := range []struct {
		space  int16
		vector []float32
		want   int64
	}{{small, []float32{1, 0}, first}, {large, []float32{1, 0, 0}, second}} {
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			hits, err := q.Documents().Search(ctx,
				index.Query{Kind: index.KindSkill, States: []string{"active"}, Vector: ask.vector, Space: ask.space,
					Limit: 5})
			if err == nil && (len(hits) != 2 || hits[0].Doc != ask.want || hits[0].Cosine < 0.99) {
				t.Errorf("space %d: %+v, want document %d first", ask.space, hits, ask.want)
			}
			return err
		})
	}
}

// A vector of another space would otherwise stay with the old text, and be found by it when that
// space is used again.
func TestANewTextDropsTheVectorsOfAllSpaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Space(t.Context(), "first", 2)
	testkit.Must(t, err)
	second, err := b.Space(t.Context(), "second", 3)
	testkit.Must(t, err)
	for i, step := range []struct {
		text string
		want int
	}{{"old", 2}, {"old", 2}, {"new", 1}} {
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			doc := b.index(ctx, q, 1, step.text)
			if i == 0 {
				testkit.Must(t, q.Documents().PutEmbedding(ctx, doc, first, []float32{1, 0}))
			}
			return q.Documents().PutEmbedding(ctx, doc, second, []float32{1, 0, 0})
		})
		if n := b.number("select count(*) from embeddings"); n != step.want {
			t.Errorf("after %q: %d vectors, want %d", step.text, n, step.want)
		}
	}
}

func TestAVectorOfAnotherDimensionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	space, err := b.Space(t.Context(), "m", 3)
	testkit.Must(t, err)
	for _, v := range [][]float32{{1, 0}, {1, 0, 0, 0}} {
		err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
			return q.Documents().PutEmbedding(t.Context(), b.index(t.Context(), q, 1, "text"), space, v)
		})
		if sqlState(err) != "23514" {
			t.Errorf("%d numbers: %v, want the partition's check to refuse them", len(v), err)
		}
	}
	if n := b.number("select count(*) from embeddings"); n != 0 {
		t.Errorf("%d vectors stored", n)
	}
}

func TestASpaceIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := make([]int16, 12)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			var err error
			if ids[i], err = b.Space(t.Context(), "m", 3+i%3); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, id := range ids {
		if id != ids[i%3] {
			t.Errorf("call %d got space %d, another for the same model and dimension %d", i, id, ids[i%3])
		}
	}
	if n := b.number("select count(*) from pg_inherits where inhparent = 'cairn.embeddings'::regclass"); n != 3 {
		t.Errorf("%d partitions, want 3", n)
	}
}

// Row-level security on the parent does not protect a
// partition that is queried directly.
func TestAPartitionCannotBeReadDirectly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	app := b.as("cairn_app")
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	if n := app.number("select count(*) from embeddings"); n != 1 {
		t.Errorf("%d vectors through the parent, want 1", n)
	}
	app.refuses("42501", "select v from embeddings_space_1")
	app.do("rollback")
	b.exec("grant select on embeddings_space_1 to cairn_app") // even with a grant, its own policy applies
	if n := app.number("select count(*) from embeddings_space_1"); n != 0 {
		t.Errorf("outside a workspace a granted partition shows %d vectors", n)
	}
}

func TestAnUnusableDimensionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Space(t.Context(), "huge", 4001); sqlState(err) != "23514" || fault.CodeOf(err) == "" {
		t.Errorf("4001 dimensions: %v", err)
	}
}

// index creates a document of an owner.
func (b *bundle) index(ctx context.Context, q store.Tx, owner int64, text string) int64 {
	b.t.Helper()
	doc, err := q.Documents().Index(ctx, index.NewDoc(index.KindSkill, owner, "active", text))
	testkit.Must(b.t, err)
	return doc
}
