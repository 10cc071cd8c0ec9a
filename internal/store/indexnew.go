package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/domain/index"
	"cairn/internal/store/dbsqlc"
)

// IndexNew indexes new active documents in three statements and returns their IDs in order. As in
// IndexAll, the shared counts are updated first, the workspace's before the terms', so that writers
// cannot deadlock.
func (q DocumentRepository) IndexNew(ctx context.Context, docs []index.Doc) ([]int64, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	p, err := q.newDocs(ctx, docs)
	if err != nil {
		return nil, err
	}
	return q.putNew(ctx, p)
}

// putNew inserts documents that have been counted and returns their IDs in order.
func (q DocumentRepository) putNew(ctx context.Context, p dbsqlc.DocsPutParams) ([]int64, error) {
	ids, err := q.q.DocsPut(ctx, p)
	if err == nil && len(ids) != len(p.Kinds) {
		err = fmt.Errorf("%d of %d documents indexed", len(ids), len(p.Kinds))
	}
	return ids, classify("index the documents", err)
}

// indexEmbedded is IndexNew that also stores the documents' vectors, in the same statement.
func (q DocumentRepository) indexEmbedded(ctx context.Context, docs []index.Doc, space int16,
	vectors [][]float32) error {
	if len(docs) == 0 {
		return nil
	}
	p, err := q.newDocs(ctx, docs)
	if err != nil {
		return err
	}
	p.Space, p.Vectors = space, halves(vectors)
	ids, err := q.q.DocsPut(ctx, p)
	if err != nil {
		return classify("index the documents", err)
	}
	return q.oweSpaces(ctx, space, ids)
}

// newDocs counts documents and returns the parameters that insert them.
func (q DocumentRepository) newDocs(ctx context.Context, docs []index.Doc) (dbsqlc.DocsPutParams, error) {
	p, moves := dbsqlc.DocsPutParams{WorkspaceID: q.ws}, termMoves{}
	for _, d := range docs {
		addDoc(&p, q.ws, d)
		moves.fresh(d)
	}
	if err := classify("count the documents",
		q.q.StatsAdd(ctx, dbsqlc.StatsAddParams{WorkspaceID: q.ws, Docs: int32(len(docs))})); err != nil {
		return p, err
	}
	return p, q.moveTerms(ctx, moves)
}

func addDoc(p *dbsqlc.DocsPutParams, ws int64, d index.Doc) {
	when, conversation := "", int64(0) // null
	if d.EventTime != nil {
		when = d.EventTime.Format(time.RFC3339Nano)
	}
	if d.Conversation != nil {
		conversation = *d.Conversation
	}
	p.Kinds, p.Owners, p.Seqs, p.Conversations = append(p.Kinds, d.Kind), append(p.Owners, d.Owner),
		append(p.Seqs, int32(d.Seq)), append(p.Conversations, conversation)
	p.Sessions, p.Texts, p.EventTimes = append(p.Sessions, int32(d.Session)), append(p.Texts, storable(d.Text)),
		append(p.EventTimes, when)
	p.Types, p.Targets, p.TargetTerms = append(p.Types, d.Type), append(p.Targets, storable(d.Target)),
		append(p.TargetTerms, arrayLiteral(d.TargetTerms))
	p.Asks, p.Dated = append(p.Asks, d.Asks), append(p.Dated, d.Dated)
	p.Keys, p.Svs = append(p.Keys, keysLiteral(indexKeys(ws, allKeys(d)))), append(p.Svs, sparse(d).String())
}

// PutEmbeddings stores the vectors of documents.
func (q DocumentRepository) PutEmbeddings(ctx context.Context, docs []int64, space int16, vectors [][]float32) error {
	return classify("store the vectors", q.q.EmbeddingsPut(ctx,
		dbsqlc.EmbeddingsPutParams{WorkspaceID: q.ws, Space: space, Docs: docs, Vectors: halves(vectors)}))
}

// Unembedded returns up to n active documents with a number above after that have no vector in a
// space, with their texts, for measurements.
func (q DocumentRepository) Unembedded(ctx context.Context, space int16, after int64, n int) (docs []int64,
	texts []string, err error) {
	rows, err := q.q.DocsToEmbed(ctx,
		dbsqlc.DocsToEmbedParams{WorkspaceID: q.ws, Space: space, After: after, MaxRows: int32(n)})
	for _, r := range rows {
		docs, texts = append(docs, r.Doc), append(texts, r.Text)
	}
	return docs, texts, classify("read the documents without vectors", err)
}

func halves(vectors [][]float32) []pgvector.HalfVector {
	out := make([]pgvector.HalfVector, len(vectors))
	for i, v := range vectors {
		out[i] = pgvector.NewHalfVector(v)
	}
	return out
}

// arrayLiteral renders an inner array as text: SQL arrays must be rectangular.
func arrayLiteral(terms []int32) string { return keysLiteral(terms) }

func keysLiteral[N int32 | int64](terms []N) string {
	return "{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(terms), " ", ","), "[]") + "}"
}
