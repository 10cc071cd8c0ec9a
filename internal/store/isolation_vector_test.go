package store_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/service/search"
	"cairn/internal/testkit"
)

// pointing is an embedder that returns the same vector for every text.
type pointing []float32

func (p pointing) Embed(context.Context, []string) ([][]float32, error) { return [][]float32{p}, nil }

// A workspace with few of many vectors gets all requested results: a filter after a search over all
// workspaces would leave almost none.
func TestFewVectorsAmongManyAreFoundInTheirExactOrder(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const dims, all, own, want = 16, 20_000, 40, 10
	b := setup(t)
	space, err := b.Space(t.Context(), "of this test", dims)
	testkit.Must(t, err)
	random := rand.New(rand.NewPCG(7, 7))
	draw := func(around, spread float32) []float32 {
		v := make([]float32, dims)
		for i := range v {
			v[i] = around + spread*random.Float32()
		}
		return v
	}
	// The vectors of others are all nearer to the query than any of its own.
	query := slices.Repeat([]float32{1}, dims)
	rows := make([][]any, all)
	mine := map[string]float64{}
	for i := range rows {
		ws, v := b.b.ID, draw(1, 0.01)
		if i%(all/own) == 0 {
			ws, v = b.a.ID, draw(0.1, 1)
			mine[fmt.Sprint("memory ", i)] = cosine(query, v)
		}
		rows[i] = []any{ws, fmt.Sprint("memory ", i), pgvector.NewHalfVector(v).String()}
	}
	b.exec("create table public.made (ws bigint, text text, v text, n bigint generated always as identity)")
	_, err = b.admin.CopyFrom(t.Context(), pgx.Identifier{"public", "made"}, []string{"ws", "text", "v"},
		pgx.CopyFromRows(rows))
	testkit.Must(t, err)
	b.exec(`with docs as (
  insert into search_docs (workspace_id, kind, owner_id, status, text, type) select ws, 'memory', n, `+
		`'active', text, 'personal' from public.made returning workspace_id, doc, owner_id
), words as (
  insert into lex_docs (workspace_id, doc, keys, sv) select workspace_id, doc, array[workspace_id << 32 | $2::int], `+
		`'{}/1000000000' from docs
), counts as (
  insert into lex_stats (workspace_id, docs) select workspace_id, count(*) from docs group by 1
) insert into embeddings (workspace_id, doc, space, v) select d.workspace_id, d.doc, $1, m.v::halfvec from docs d `+
		`join public.made m on m.n = d.owner_id`, space, lexical.Key(index.KeyKind, index.KindMemory))

	finder := search.Finder{Index: b.SearchIndex(), Embedder: pointing(query), Space: space, MinCosine: -1,
		VectorShare: 1}
	found, err := finder.Find(t.Context(), b.a.ID,
		search.Request{Query: "anything", Kinds: []string{index.KindMemory}, Limit: want})
	testkit.Must(t, err)
	var texts []string
	for _, r := range found {
		texts = append(texts, r.Text)
	}
	exact := slices.SortedFunc(maps.Keys(mine), func(a, b string) int { return cmp.Compare(mine[b], mine[a]) })[:want]
	if !slices.Equal(texts, exact) {
		t.Errorf("found %q, want %q", texts, exact)
	}
	if n := b.number("select count(*) from embeddings"); n != all || len(mine) != own {
		t.Fatalf("%d vectors, %d of the workspace's", n, len(mine))
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
