// Package findbench measures hybrid retrieval over generated memories at several sizes. It
// compares retrieval with exact vector search through the same pool, with the same begin,
// enter and commit in one round trip.
package findbench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Row is the result for one size.
type Row struct {
	Memories   int     `json:"memories"` // per workspace
	Workspaces int     `json:"workspaces"`
	Dims       int     `json:"dimensions"`
	Graph      bool    `json:"graph"` // whether the workspace has an HNSW graph
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	BareP50    float64 `json:"bare_p50_ms"`
	BareP99    float64 `json:"bare_p99_ms"`
	Recall     float64 `json:"recall_at_10,omitempty"`        // fraction of the nearest memories that the graph finds
	Answers    float64 `json:"answers_at_10,omitempty"`       // fraction of the results that stay with the graph
	Narrow     float64 `json:"narrow_recall_at_10,omitempty"` // the same with a filter that 1 % of the memories pass
	Wide       float64 `json:"wide_recall_at_10,omitempty"`   // and with one that 30 % pass
	Build      float64 `json:"graph_seconds,omitempty"`       // build time in seconds
	GraphBytes float64 `json:"graph_bytes_each,omitempty"`    // per memory
	// per memory: document, postings, terms, vector, and their indexes
	Bytes     float64 `json:"bytes_each"`
	PerSecond float64 `json:"stored_per_second,omitempty"` // rate through the store; 0 if rows were copied
	Filled    float64 `json:"filled_in_seconds"`
}

const (
	queries = 100
	warm    = 15
	limit   = 10
)

// Bench is a database with workspaces of one size, searched with vectors of one dimension.
type Bench struct {
	App      *app.App
	Memories int // per workspace
	ids      []int64
	stored   time.Duration
	copied   bool
}

// Measure sends equal numbers of questions to both searches and alternates which one starts,
// because the first one finds cold caches and pages that its connection has not touched.
func (b *Bench) Measure(ctx context.Context) (Row, error) {
	all := b.Memories * len(b.ids)
	r := Row{Memories: b.Memories, Workspaces: len(b.ids), Dims: b.App.Embedder.Dims(), Filled: b.stored.Seconds()}
	if !b.copied {
		r.PerSecond = float64(all) / b.stored.Seconds()
	}
	bytes, graph, err := b.bytes(ctx)
	if err != nil {
		return r, err
	}
	r.Bytes, r.GraphBytes = float64(bytes)/float64(all), float64(graph)/float64(all)
	var ours, bare []time.Duration
	for i := range queries + warm {
		ws, question := b.question(i)
		v, err := b.vector(ctx, question)
		if err != nil {
			return r, err
		}
		ways := []struct {
			took *[]time.Duration
			ask  func() error
		}{
			{&ours, func() error {
				_, err := b.App.Finder.Find(ctx, ws, search.Request{Query: question, Limit: limit})
				return err
			}},
			{&bare, func() error {
				_, err := b.nearest(ctx, ws, v, false)
				return err
			}},
		}
		if i%2 == 1 {
			slices.Reverse(ways)
		}
		for _, way := range ways {
			started := time.Now()
			if err := way.ask(); err != nil {
				return r, err
			}
			if i >= warm {
				*way.took = append(*way.took, time.Since(started))
			}
		}
	}
	r.P50, r.P99, r.BareP50, r.BareP99 = percentile(ours, 0.5), percentile(ours, 0.99), percentile(bare, 0.5),
		percentile(bare, 0.99)
	return r, nil
}

// question returns the i-th question with its workspace. It is the same at every call.
func (b *Bench) question(i int) (int64, string) {
	n := i % len(b.ids)
	return b.ids[n], corpus.NewTopics(n%distinct, b.Memories, uint64(i)+1).Text(6)
}

func (b *Bench) vector(ctx context.Context, question string) ([]float32, error) {
	vs, err := b.App.Embedder.Embed(ctx, []string{question})
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// nearest returns the IDs of the nearest memories, by exact search or by the graph.
func (b *Bench) nearest(ctx context.Context, ws int64, v []float32, graph bool) (docs []int64, err error) {
	err = b.App.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		if graph {
			docs, err = q.Documents().NearestInGraph(ctx, b.App.Space, v, limit)
		} else {
			docs, err = q.Documents().Nearest(ctx, b.App.Space, v, limit)
		}
		return err
	})
	return docs, err
}

// Graph builds the graph of the first workspace and measures its effect.
func (b *Bench) Graph(ctx context.Context) (Row, error) {
	exact, err := b.answers(ctx)
	if err != nil {
		return Row{}, err
	}
	started := time.Now()
	if err := store.GraphVectors(ctx, b.App.Config.DatabaseURL, b.ids[0], b.App.Space); err != nil {
		return Row{}, err
	}
	build := time.Since(started)
	with, err := b.answers(ctx)
	if err != nil {
		return Row{}, err
	}
	var near, nearest [][]int64
	for i := range queries {
		_, question := b.question(i)
		v, err := b.vector(ctx, question)
		if err != nil {
			return Row{}, err
		}
		for _, way := range []struct {
			graph bool
			into  *[][]int64
		}{{true, &near}, {false, &nearest}} {
			docs, err := b.nearest(ctx, b.ids[0], v, way.graph)
			if err != nil {
				return Row{}, err
			}
			*way.into = append(*way.into, docs)
		}
	}
	r, err := b.Measure(ctx)
	if err != nil {
		return r, err
	}
	if r.Narrow, err = b.filtered(ctx, memory.Guideline); err != nil {
		return r, err
	}
	r.Wide, err = b.filtered(ctx, memory.Procedural)
	r.Graph, r.Build, r.Answers, r.Recall = true, build.Seconds(), shared(exact, with), shared(nearest, near)
	return r, err
}

func (b *Bench) answers(ctx context.Context) ([][]string, error) {
	var out [][]string
	for i := range queries {
		_, question := b.question(i)
		found, err := b.App.Finder.Find(ctx, b.ids[0], search.Request{Query: question, Limit: limit})
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(found))
		for i, f := range found {
			texts[i] = f.Text
		}
		out = append(out, texts)
	}
	return out, nil
}

// shared is the fraction of elements of want that are in got.
func shared[T comparable](want, got [][]T) float64 {
	same, all := 0, 0
	for i := range want {
		for _, x := range want[i] {
			all++
			if slices.Contains(got[i], x) {
				same++
			}
		}
	}
	return float64(same) / float64(max(1, all))
}

func percentile(ds []time.Duration, p float64) float64 {
	slices.Sort(ds)
	return float64(ds[min(len(ds)-1, int(p*float64(len(ds))))].Microseconds()) / 1000
}

// Missed returns the goal that r misses, or "". With 384 dimensions, the median has a goal of 10 ms up to 20,000
// memories, and of 25 ms with a graph. A graph also has goals of 0.98 recall, and of 0.97 with filters.
func (r Row) Missed() string {
	goal := math.Inf(1)
	switch {
	case r.Dims > 384:
	case r.Graph:
		goal = 25
	case r.Memories <= 20_000:
		goal = 10
	}
	switch {
	case r.P50 > goal:
		return fmt.Sprintf("%.2f ms, goal %.0f", r.P50, goal)
	case r.Graph && min(r.Narrow, r.Wide) < 0.97:
		return fmt.Sprintf("recall@10 with filters %.3f and %.3f, goal 0.97", r.Narrow, r.Wide)
	case r.Graph && r.Recall < 0.98:
		return fmt.Sprintf("recall@10 %.3f, goal 0.98", r.Recall)
	}
	return ""
}
