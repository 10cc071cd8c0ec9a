package findbench

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	pgvector "github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
	"golang.org/x/sync/errgroup"

	"cairn/internal/adapter/postgres"
	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/app"
	"cairn/internal/service/search"
)

// connect connects as a superuser to the temporary database, because COPY does not support
// row-level security.
func (b *Bench) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(b.App.Config.DatabaseURL)
	if err != nil {
		return nil, err
	}
	// skips the foreign key checks of each row
	c.RuntimeParams["search_path"], c.RuntimeParams["session_replication_role"] = "cairn, public", "replica"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return conn, pgxvector.RegisterTypes(ctx, conn)
}

// bytes returns the size of the search tables without graphs, and of the first workspace's
// graph.
func (b *Bench) bytes(ctx context.Context) (all, graph int64, err error) {
	conn, err := b.connect(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	q := dbsqlc.New(conn)
	if all, err = q.SearchBytes(ctx, dbsqlc.SearchBytesParams{WorkspaceID: b.ids[0], Space: b.App.Space}); err != nil {
		return 0, 0, err
	}
	graph, err = q.GraphBytes(ctx, dbsqlc.GraphBytesParams{WorkspaceID: b.ids[0], Space: b.App.Space})
	return all, graph, err
}

// batch is the content to copy into a workspace: documents, postings in index order, and
// vectors for each of the hosts.
type batch struct {
	docs    []search.Doc
	df      map[int32]int32
	weights map[int32]float32 // the highest of each term
	vectors [][][]float32
}

// distinct is the number of workspaces with different memories. Other workspaces repeat these
// memories in their own rows.
const distinct = 20

func (b *Bench) batch(ctx context.Context, hosts []*app.App, n int) (*batch, error) {
	docs, texts := memories(newWords(n, b.Memories, textSeed), 0, b.Memories)
	out := &batch{
		docs:    docs,
		df:      map[int32]int32{},
		weights: map[int32]float32{},
		vectors: make([][][]float32, len(hosts)),
	}
	for _, d := range docs {
		for k, t := range d.Terms {
			out.df[t]++
			out.weights[t] = max(out.weights[t], d.Weights[k])
		}
		for _, key := range d.Keys() {
			out.df[key]++
		}
	}
	for i, h := range hosts {
		vs, err := h.Embedder.Embed(ctx, texts)
		if err != nil {
			return nil, err
		}
		out.vectors[i] = vs
	}
	return out, nil
}

// copy fills the tables that the store has not filled, and then runs vacuum and analyze.
func (b *Bench) copy(ctx context.Context, hosts []*app.App) error {
	for n := range min(distinct, len(b.ids)) {
		made, err := b.batch(ctx, hosts, n)
		if err != nil {
			return err
		}
		group, within := errgroup.WithContext(ctx)
		group.SetLimit(runtime.NumCPU())
		for k := n; k < len(b.ids); k += distinct {
			group.Go(func() error { return b.copyWorkspace(within, hosts, made, k) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	q := dbsqlc.New(conn)
	if b.copied {
		if err := q.BulkNumbered(ctx, int64(len(b.ids)*b.Memories)); err != nil {
			return err
		}
	}
	return q.BulkSettled(ctx)
}

// copyWorkspace fills the k-th workspace.
func (b *Bench) copyWorkspace(ctx context.Context, hosts []*app.App, from *batch, k int) error {
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	ws, first := b.ids[k], int64(k*b.Memories)+1 // first document ID, also if the store assigned it
	into := func(table string, columns []string, n int, row func(i int) []any) {
		if err == nil {
			_, err = conn.CopyFrom(ctx, pgx.Identifier{table}, columns,
				pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil }))
		}
	}
	if b.copied {
		now := time.Now()
		into("search_docs", []string{"workspace_id", "doc", "kind", "owner_id", "seq", "event_time", "status", "text",
			"type", "target", "target_terms", "asks", "dated"}, len(from.docs), func(i int) []any {
			d := from.docs[i]
			return []any{ws, first + int64(i), d.Kind, d.Owner, int32(0), now.Add(-time.Duration(i) * time.Minute),
				d.Status, d.Text, d.Type, "", []int32{}, d.Asks, d.Dated}
		})
		into("lex_stats", []string{"workspace_id", "docs"}, 1, func(int) []any {
			return []any{ws, int32(len(from.docs))}
		})
		terms := slices.Sorted(maps.Keys(from.df))
		into("lex_terms", []string{"workspace_id", "term", "df", "speakers", "max_w"}, len(terms), func(i int) []any {
			return []any{ws, terms[i], from.df[terms[i]], int32(0), from.weights[terms[i]]}
		})
		into(
			"lex_docs",
			[]string{"workspace_id", "doc", "event_time", "keys", "sv"},
			len(from.docs),
			func(i int) []any {
				keys, words := postgres.IndexedWords(ws, from.docs[i])
				return []any{ws, first + int64(i), now.Add(-time.Duration(i) * time.Minute), keys, words}
			},
		)
	}
	for i, h := range hosts {
		if i > 0 || b.copied { // otherwise the store has filled them
			into("embeddings", []string{"workspace_id", "doc", "space", "v"}, len(from.docs), func(at int) []any {
				return []any{ws, first + int64(at), h.Space, pgvector.NewHalfVector(from.vectors[i][at])}
			})
		}
	}
	return err
}
