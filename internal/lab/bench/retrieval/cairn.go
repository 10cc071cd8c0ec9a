package retrieval

import (
	"context"
	"errors"

	"cairn/internal/app"
	"cairn/internal/domain/index"
	"cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Of returns what is measured of an App. With wordsOnly there are no vectors. The database must be a temporary one, and
// its login a superuser.
func Of(h *app.App, wordsOnly bool) Cairn {
	finder := h.Finder
	c := Cairn{Embedder: h.Embedder.Model(), Dims: h.Embedder.Dims()}
	if wordsOnly {
		finder.Embedder, finder.Spaces = noEmbedder{}, nil
		c.Embedder, c.Dims = "none", 0
	}
	c.Store, c.Finder, c.Index = measured{h, wordsOnly}, finder, finder.Index
	c.Settings = map[string]any{"rank": search.DefaultWeights(), "profile": finder.Profile,
		"min_cosine":   finder.MinCosine,
		"vector_share": finder.VectorShare}
	return c
}

// noEmbedder makes searches compare words alone.
type noEmbedder struct{}

func (noEmbedder) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("this measurement has no embedder")
}

// measured stores the documents of measurements.
type measured struct {
	h         *app.App
	wordsOnly bool
}

func (m measured) MakeWorkspace(ctx context.Context, name string) (int64, error) {
	ws, err := m.h.Store.Workspace(ctx, name, true)
	return ws.ID, err
}

func (m measured) PutConversation(ctx context.Context, ws int64, c transcript.Conversation) error {
	return m.h.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, c, "import")
		return err
	})
}

const (
	measuredPage = 1000
	// copyFrom is the number of documents from which rows are copied into the tables: the store
	// would take too long.
	copyFrom = 50_000
)

// Embed embeds what no worker embeds here.
func (m measured) Embed(ctx context.Context, ws int64) error {
	if m.wordsOnly {
		return nil
	}
	for after := int64(0); ; {
		var docs []int64
		var texts []string
		if err := m.h.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) (err error) {
			docs, texts, err = q.Documents().Unembedded(ctx, m.h.Space, after, measuredPage)
			return err
		}); err != nil || len(docs) == 0 {
			return err
		}
		vectors, err := m.h.Embedder.Embed(ctx, texts)
		if err != nil {
			return err
		}
		if err := m.h.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
			return q.Documents().PutEmbeddings(ctx, docs, m.h.Space, vectors)
		}); err != nil {
			return err
		}
		after = docs[len(docs)-1]
	}
}

// vectors returns the vectors of documents, nil if words alone are compared.
func (m measured) vectors(ctx context.Context, docs []index.Doc) ([][]float32, error) {
	if m.wordsOnly {
		return nil, nil
	}
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	return m.h.Embedder.Embed(ctx, texts)
}

// Fill stores the documents, and many of them by COPY.
func (m measured) Fill(ctx context.Context, ws int64, n int, page func(from, to int) []index.Doc) error {
	bulk, err := store.OpenBulk(ctx, m.h.Config.DatabaseURL)
	if err != nil {
		return err
	}
	defer bulk.Close(ctx)
	put := m.store
	var counts store.BulkCounts
	if n >= copyFrom {
		first, err := bulk.Next(ctx)
		if err != nil {
			return err
		}
		put = func(ctx context.Context, ws int64, docs []index.Doc, vectors [][]float32) error {
			counts.Add(docs)
			err := bulk.Documents(ctx, ws, first, docs)
			if err == nil && len(vectors) > 0 {
				err = bulk.Vectors(ctx, ws, first, m.h.Space, vectors)
			}
			first += int64(len(docs))
			return err
		}
	}
	for at := 0; at < n; at += measuredPage {
		docs := page(at, min(n, at+measuredPage))
		vectors, err := m.vectors(ctx, docs)
		if err != nil {
			return err
		}
		if err := put(ctx, ws, docs, vectors); err != nil {
			return err
		}
	}
	if n >= copyFrom {
		if err := m.counted(ctx, bulk, ws, &counts); err != nil {
			return err
		}
	}
	return bulk.Settled(ctx)
}

// counted stores the counts of copied documents. The workspace must have been empty.
func (m measured) counted(ctx context.Context, bulk *store.Bulk, ws int64, counts *store.BulkCounts) error {
	if err := bulk.Counts(ctx, ws, counts); err != nil {
		return err
	}
	next, err := bulk.Next(ctx)
	if err != nil {
		return err
	}
	return bulk.Numbered(ctx, next-1)
}

// store indexes a page as the services do.
func (m measured) store(ctx context.Context, ws int64, docs []index.Doc, vectors [][]float32) error {
	return m.h.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		ids, err := q.Documents().IndexNew(ctx, docs)
		if err != nil || len(vectors) == 0 {
			return err
		}
		return q.Documents().PutEmbeddings(ctx, ids, m.h.Space, vectors)
	})
}

// Bytes measures the tables of search.
func (m measured) Bytes(ctx context.Context, ws int64) (all, words int64, err error) {
	bulk, err := store.OpenBulk(ctx, m.h.Config.DatabaseURL)
	if err != nil {
		return 0, 0, err
	}
	defer bulk.Close(ctx)
	return bulk.IndexBytes(ctx, ws, m.h.Space)
}
