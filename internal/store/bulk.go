package store

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	pgvector "github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"cairn/internal/domain/index"
	"cairn/internal/store/dbsqlc"
)

// Bulk fills the search tables of a temporary database by COPY, for measurements. It checks
// nothing and sends no outbox tasks. It is not safe for concurrent use.
type Bulk struct{ conn *pgx.Conn }

// OpenBulk connects as a superuser, because COPY does not support row-level security.
func OpenBulk(ctx context.Context, url string) (*Bulk, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, classify("read the database URL", err)
	}
	// skips the foreign key checks of each row
	c.RuntimeParams["search_path"], c.RuntimeParams["session_replication_role"] = "cairn, public", "replica"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, classify("connect", err)
	}
	return &Bulk{conn}, classify("read the vector types", pgxvector.RegisterTypes(ctx, conn))
}

// Close closes the connection.
func (b *Bulk) Close(ctx context.Context) { _ = b.conn.Close(context.WithoutCancel(ctx)) }

func (b *Bulk) copy(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error {
	_, err := b.conn.CopyFrom(ctx, pgx.Identifier{table}, columns,
		pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil }))
	return classify("copy into "+table, err)
}

// Documents copies documents with the IDs from first on, without their counts.
func (b *Bulk) Documents(ctx context.Context, ws, first int64, docs []index.Doc) error {
	err := b.copy(ctx, "search_docs", []string{"workspace_id", "doc", "kind", "owner_id", "seq", "event_time", "status",
		"text", "type", "target", "target_terms", "asks", "dated", "conversation_id"}, len(docs), func(i int) []any {
		d := docs[i]
		return []any{ws, first + int64(i), d.Kind, d.Owner, int32(d.Seq), d.EventTime, d.Status, d.Text, d.Type,
			d.Target, terms(d.TargetTerms), d.Asks, d.Dated, d.Conversation}
	})
	if err != nil {
		return err
	}
	return b.copy(ctx, "lex_docs", []string{"workspace_id", "doc", "event_time", "keys", "sv"}, len(docs),
		func(i int) []any {
			return []any{ws, first + int64(i), docs[i].EventTime, indexKeys(ws, allKeys(docs[i])), sparse(docs[i])}
		})
}

// Vectors copies the vectors of the documents with the IDs from first on.
func (b *Bulk) Vectors(ctx context.Context, ws, first int64, space int16, vectors [][]float32) error {
	return b.copy(ctx, "embeddings", []string{"workspace_id", "doc", "space", "v"}, len(vectors), func(i int) []any {
		return []any{ws, first + int64(i), space, pgvector.NewHalfVector(vectors[i])}
	})
}

// BulkCounts are the counts that the store keeps of words.
type BulkCounts struct {
	docs    int32
	df      map[int32]int32
	weights map[int32]float32
}

// Add counts documents.
func (c *BulkCounts) Add(docs []index.Doc) {
	if c.df == nil {
		c.df, c.weights = map[int32]int32{}, map[int32]float32{}
	}
	c.docs += int32(len(docs))
	for _, d := range docs {
		for i, t := range d.Terms {
			c.weights[t] = max(c.weights[t], d.Weights[i])
		}
		for _, t := range allKeys(d) {
			c.df[t]++
		}
	}
}

// Counts copies the counts of all documents of a workspace.
func (b *Bulk) Counts(ctx context.Context, ws int64, c *BulkCounts) error {
	err := b.copy(ctx, "lex_stats", []string{"workspace_id", "docs"}, 1, func(int) []any { return []any{ws, c.docs} })
	if err != nil {
		return err
	}
	sorted := slices.Sorted(maps.Keys(c.df))
	return b.copy(ctx, "lex_terms", []string{"workspace_id", "term", "df", "speakers", "max_w"}, len(sorted),
		func(i int) []any {
			return []any{ws, sorted[i], c.df[sorted[i]], int32(0), c.weights[sorted[i]]}
		})
}

// Next returns the lowest ID that new documents can have.
func (b *Bulk) Next(ctx context.Context) (int64, error) {
	n, err := dbsqlc.New(b.conn).BulkNext(ctx)
	return n, classify("number the documents", err)
}

// Numbered makes the IDs of new documents follow last.
func (b *Bulk) Numbered(ctx context.Context, last int64) error {
	return classify("number the documents", dbsqlc.New(b.conn).BulkNumbered(ctx, last))
}

// Settled does the work that autovacuum does later.
func (b *Bulk) Settled(ctx context.Context) error {
	return classify("vacuum", dbsqlc.New(b.conn).BulkSettled(ctx))
}

// IndexBytes returns the size of the search tables with their indexes, but without graphs, and of
// the index of words alone.
func (b *Bulk) IndexBytes(ctx context.Context, ws int64, space int16) (all, words int64, err error) {
	q := dbsqlc.New(b.conn)
	if all, err = q.SearchBytes(ctx, dbsqlc.SearchBytesParams{WorkspaceID: ws, Space: space}); err == nil {
		words, err = q.WordBytes(ctx)
	}
	return all, words, classify("measure the tables", err)
}

// GraphBytes returns the size of a workspace's graph.
func (b *Bulk) GraphBytes(ctx context.Context, ws int64, space int16) (int64, error) {
	n, err := dbsqlc.New(b.conn).GraphBytes(ctx, dbsqlc.GraphBytesParams{WorkspaceID: ws, Space: space})
	return n, classify("measure the graph", err)
}
