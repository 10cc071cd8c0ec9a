package findbench

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/corpus"
	"cairn/internal/store"
)

const (
	page        = 1000
	memoryWords = 22
	textSeed    = 0 // questions use other seeds
	// copyFrom is the number of memories from which rows are copied into the tables: the
	// store would take too long, and its speed is measured with fewer memories.
	copyFrom = 50_000
)

// Fill creates workspaces with memories, with vectors for each of the hosts. Hosts share a
// database and differ in the dimensions of their vectors.
func Fill(ctx context.Context, hosts []*app.App, workspaces, memories int) ([]*Bench, error) {
	one := &Bench{App: hosts[0], Memories: memories, copied: workspaces*memories >= copyFrom}
	for n := range workspaces {
		ws, err := one.App.Store.Workspace(ctx, fmt.Sprintf("find-%d-%d", memories, n), true)
		if err != nil {
			return nil, err
		}
		one.ids = append(one.ids, ws.ID)
	}
	started := time.Now()
	if !one.copied {
		for n, ws := range one.ids {
			if err := one.store(ctx, n, ws); err != nil {
				return nil, fmt.Errorf("fill: %w", err)
			}
		}
		one.stored = time.Since(started)
	}
	if err := one.copy(ctx, hosts); err != nil {
		return nil, fmt.Errorf("fill in bulk: %w", err)
	}
	if one.copied {
		one.stored = time.Since(started)
	}
	benches := make([]*Bench, len(hosts))
	for i, h := range hosts {
		b := *one
		b.App = h
		benches[i] = &b
	}
	return benches, nil
}

// store fills a workspace through the store.
func (b *Bench) store(ctx context.Context, n int, ws int64) error {
	w := corpus.NewTopics(n%distinct, b.Memories, textSeed)
	for at := 0; at < b.Memories; at += page {
		docs, texts := memories(w, at, min(page, b.Memories-at))
		vectors, err := b.App.Embedder.Embed(ctx, texts)
		if err != nil {
			return err
		}
		err = b.App.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
			ids, err := q.Documents().IndexNew(ctx, docs)
			if err != nil {
				return err
			}
			return q.Documents().PutEmbeddings(ctx, ids, b.App.Space, vectors)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memories returns the next n memories, starting with number at.
func memories(w *corpus.Topics, at, n int) ([]index.Doc, []string) {
	docs, texts := make([]index.Doc, n), make([]string, n)
	for i := range n {
		texts[i] = w.Text(memoryWords)
		docs[i] = index.NewDoc(index.KindMemory, int64(at+i+1), "active", texts[i])
		docs[i].Type = string(typeOf(at + i))
	}
	return docs, texts
}

// typeOf returns the type of memory n: of 100 memories, one is a guideline and 30 are procedural.
func typeOf(n int) memory.Type {
	switch place := n % 100; {
	case place == 0:
		return memory.Guideline
	case place <= 30:
		return memory.Procedural
	}
	return memory.Personal
}
