package store_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

const (
	graphDims  = 24
	graphRows  = 1500
	graphGroup = 30
)

// cloud fills a workspace with memories in groups of near vectors, and marks it as big. It returns
// query vectors.
func (b *bundle) cloud(ws access.Workspace, space int16) [][]float32 {
	b.t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(ws.ID)))
	point := func(near []float32, spread float64) []float32 {
		v, sum := make([]float32, graphDims), 0.0
		for i := range v {
			v[i] = near[i] + float32(r.NormFloat64()*spread)
			sum += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		return v
	}
	var docs []index.Doc
	var vectors, asks [][]float32
	for i := range graphRows {
		if i%graphGroup == 0 {
			asks = append(asks, point(make([]float32, graphDims), 1))
		}
		d := index.NewDoc(index.KindMemory, int64(i+1), "active",
			fmt.Sprintf("memory number%d of group%d", i, i/graphGroup))
		d.Type = "personal"
		docs, vectors = append(docs, d), append(vectors, point(asks[len(asks)-1], 0.1))
	}
	b.in(ws, func(ctx context.Context, q store.Tx) error {
		ids, err := q.Documents().IndexNew(ctx, docs)
		if err != nil {
			return err
		}
		return q.Documents().PutEmbeddings(ctx, ids, space, vectors)
	})
	b.exec("update lex_stats set docs = $2 where workspace_id = $1", ws.ID, store.MinGraph)
	return asks
}

func (b *bundle) tend(space int16) store.Graphs {
	b.t.Helper()
	done, err := b.MaintainVectorIndexes(b.t.Context(), b.url, space, store.MinGraph)
	testkit.Must(b.t, err)
	return done
}

func TestABigWorkspaceIsSearchedByItsGraph(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	space, err := b.Space(t.Context(), "m", graphDims)
	testkit.Must(t, err)
	asks := b.cloud(b.a, space)
	b.in(b.b, func(ctx context.Context, q store.Tx) error {
		return q.Documents().PutEmbedding(ctx, b.index(ctx, q, 1, "someone else's"), space, asks[0])
	})
	nearest := func(ctx context.Context, q store.Tx) (out [][]int64) {
		for _, v := range asks {
			docs, err := q.Documents().Nearest(ctx, space, v, 10)
			testkit.Must(t, err)
			out = append(out, docs)
		}
		return out
	}
	answers := func() (out [][]string) {
		for i, v := range asks {
			finder := search.Finder{Index: b.SearchIndex(), Embedder: pointing(v), Space: space, VectorShare: 0.8,
				MinCosine: 0.35}
			found, err := finder.Find(t.Context(), b.a.ID, search.Request{Query: fmt.Sprintf("group%d", i)})
			testkit.Must(t, err)
			var ids []string
			for _, f := range found {
				ids = append(ids, f.Text)
			}
			out = append(out, ids)
		}
		return out
	}
	before := answers()
	if done := b.tend(space); !slices.Equal(done.Built, []int64{b.a.ID}) || len(done.Dropped) != 0 {
		t.Fatalf("%+v, want a graph of the first workspace", done)
	}
	if done := b.tend(space); len(done.Built)+len(done.Dropped) != 0 {
		t.Errorf("a second look does %+v", done)
	}
	// The ordinary search uses the graph: once per find, and no other index of the vectors.
	if scans := b.graphScans(b.a, space, asks[0]); scans != "1 0" {
		t.Errorf("scans of the graph, of the vectors' key: %s, want 1 0", scans)
	}
	same, all := 0, 0
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		for i, want := range nearest(ctx, q) {
			got, err := q.Documents().NearestInGraph(ctx, space, asks[i], 10)
			testkit.Must(t, err)
			for _, doc := range want {
				all++
				if slices.Contains(got, doc) {
					same++
				}
			}
		}
		return nil
	})
	if recall := float64(same) / float64(all); recall < 0.98 || all != 10*len(asks) {
		t.Errorf("recall@10 of the graph is %.3f over %d", recall, all)
	}
	if after := answers(); strings.Join(after[0], ";") != strings.Join(before[0], ";") {
		t.Errorf("without the graph %q is found, with it %q", before[0], after[0])
	}
}

// graphScans counts, in one transaction, how often a search uses the workspace's graph and the key
// of the vectors.
func (b *bundle) graphScans(ws access.Workspace, space int16, v []float32) (scans string) {
	b.t.Helper()
	ctx := b.t.Context()
	tx, err := b.admin.Begin(ctx)
	testkit.Must(b.t, err)
	defer func() { testkit.Must(b.t, tx.Rollback(ctx)) }()
	_, err = tx.Exec(ctx, "set local role cairn_app")
	testkit.Must(b.t, err)
	_, err = tx.Exec(ctx, "select cairn.enter($1)", ws.ID)
	testkit.Must(b.t, err)
	_, err = tx.Exec(
		ctx,
		"select from cairn.nearest($1, null, $2::text::public.halfvec, $3, 10)",
		ws.ID,
		strings.ReplaceAll(fmt.Sprint(v), " ", ","),
		space,
	)
	testkit.Must(b.t, err)
	testkit.Must(b.t, tx.QueryRow(ctx, "select pg_stat_get_xact_numscans(to_regclass('cairn.' || "+
		"cairn.vector_index($1, $2))) || ' ' || pg_stat_get_xact_numscans(to_regclass('cairn.embeddings_space_' || "+
		"$2::text || '_pkey'))", ws.ID, space).Scan(&scans))
	return scans
}

func TestAGraphIsSearchedAsWideAsItNeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wide := func(space int16, dims int) (ef string) {
		tx, err := b.admin.Begin(t.Context())
		testkit.Must(t, err)
		defer func() { testkit.Must(t, tx.Rollback(t.Context())) }()
		_, err = tx.Exec(t.Context(), "select from cairn.nearest_in_graph($1, array_fill(0.5::real, "+
			"array[$2::int])::public.halfvec, $3, 10)", b.a.ID, dims, space)
		testkit.Must(t, err)
		testkit.Must(t, tx.QueryRow(t.Context(), "select current_setting('hnsw.ef_search')").Scan(&ef))
		return ef
	}
	for dims, want := range map[int]string{graphDims: "100", 1536: "80"} {
		space, err := b.Space(t.Context(), "m", dims)
		testkit.Must(t, err)
		testkit.Must(t, store.GraphVectors(t.Context(), b.url, b.a.ID, space))
		if ef := wide(space, dims); ef != want {
			t.Errorf("a graph of %d dimensions is searched with ef_search %s, want %s", dims, ef, want)
		}
	}
}

func TestAWorkspaceThatShrinksLosesItsGraph(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	space, err := b.Space(t.Context(), "m", graphDims)
	testkit.Must(t, err)
	asks := b.cloud(b.a, space)
	b.tend(space)
	for _, c := range []struct{ docs, dropped int }{{store.MinGraph/2 + 1, 0}, {store.MinGraph/2 - 1, 1}} {
		b.exec("update lex_stats set docs = $2 where workspace_id = $1", b.a.ID, c.docs)
		if done := b.tend(space); len(done.Dropped) != c.dropped || len(done.Built) != 0 {
			t.Errorf("at %d documents %+v, want %d dropped", c.docs, done, c.dropped)
		}
	}
	b.exec("update lex_stats set docs = $2 where workspace_id = $1", b.a.ID, store.MinGraph)
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		docs, err := q.Documents().Nearest(ctx, space, asks[0], 10)
		if len(docs) != 10 {
			t.Errorf("without its graph %d are found", len(docs))
		}
		return err
	})
	if n := b.number("select count(*) from vector_graphs($1)", space); n != 0 {
		t.Errorf("%d graphs are left", n)
	}
}

// An interrupted build leaves an invalid index.
func TestAnUnfinishedGraphIsBuiltAnew(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	space, err := b.Space(t.Context(), "m", graphDims)
	testkit.Must(t, err)
	asks := b.cloud(b.a, space)
	b.tend(space)
	b.exec("update pg_index set indisvalid = false where indexrelid = to_regclass(vector_index($1, $2))", b.a.ID, space)
	if scans := b.graphScans(b.a, space, asks[0]); !strings.HasPrefix(scans, "0 ") {
		t.Errorf("an index that is not valid is used: %s", scans)
	}
	if done := b.tend(space); len(done.Built) != 1 || len(done.Dropped) != 1 {
		t.Errorf("%+v, want it dropped and built", done)
	}
	if n := b.number("select count(*) from vector_graphs($1) where valid", space); n != 1 {
		t.Errorf("%d valid graphs", n)
	}
}

// A login that can only work in workspaces gets an error that names the missing right.
func TestOnlyTheOwnerBuildsGraphs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	space, err := b.Space(t.Context(), "m", graphDims)
	testkit.Must(t, err)
	_, err = b.MaintainVectorIndexes(t.Context(), b.login(roleName(), "cairn_app", "cairn_system"), space,
		store.MinGraph)
	if fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("%v, want a misconfigured login", err)
	}
}
