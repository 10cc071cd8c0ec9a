package findbench

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/app"
	"cairn/internal/domain/index"
	"cairn/internal/lab/corpus"
	"cairn/internal/store"
)

// bytes returns the size of the search tables without graphs, and of the first workspace's
// graph.
func (b *Bench) bytes(ctx context.Context) (all, graph int64, err error) {
	bulk, err := store.OpenBulk(ctx, b.App.Config.DatabaseURL)
	if err != nil {
		return 0, 0, err
	}
	defer bulk.Close(ctx)
	if all, _, err = bulk.IndexBytes(ctx, b.ids[0], b.App.Space); err != nil {
		return 0, 0, err
	}
	graph, err = bulk.GraphBytes(ctx, b.ids[0], b.App.Space)
	return all, graph, err
}

// batch is the content to copy into a workspace: documents, and vectors for each of the hosts.
type batch struct {
	docs    []index.Doc
	counts  store.BulkCounts
	vectors [][][]float32
}

// distinct is the number of workspaces with different memories. Other workspaces repeat these
// memories in their own rows.
const distinct = 20

func (b *Bench) batch(ctx context.Context, hosts []*app.App, n int) (*batch, error) {
	docs, texts := memories(corpus.NewTopics(n, b.Memories, textSeed), 0, b.Memories)
	out := &batch{docs: docs, vectors: make([][][]float32, len(hosts))}
	now := time.Now()
	for i := range docs {
		at := now.Add(-time.Duration(i) * time.Minute)
		docs[i].EventTime = &at
	}
	out.counts.Add(docs)
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
	bulk, err := store.OpenBulk(ctx, b.App.Config.DatabaseURL)
	if err != nil {
		return err
	}
	defer bulk.Close(ctx)
	if b.copied {
		if err := bulk.Numbered(ctx, int64(len(b.ids)*b.Memories)); err != nil {
			return err
		}
	}
	return bulk.Settled(ctx)
}

// copyWorkspace fills the k-th workspace.
func (b *Bench) copyWorkspace(ctx context.Context, hosts []*app.App, from *batch, k int) error {
	bulk, err := store.OpenBulk(ctx, b.App.Config.DatabaseURL)
	if err != nil {
		return err
	}
	defer bulk.Close(ctx)
	ws, first := b.ids[k], int64(k*b.Memories)+1 // first document ID, also if the store assigned it
	if b.copied {
		if err := bulk.Documents(ctx, ws, first, from.docs); err != nil {
			return err
		}
		if err := bulk.Counts(ctx, ws, &from.counts); err != nil {
			return err
		}
	}
	for i, h := range hosts {
		if i == 0 && !b.copied { // the store has filled them
			continue
		}
		if err := bulk.Vectors(ctx, ws, first, h.Space, from.vectors[i]); err != nil {
			return err
		}
	}
	return nil
}
