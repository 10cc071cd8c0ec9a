// Package findbench measures hybrid retrieval over made-up memories at several
// sizes beside the bare exact search by vector, both through the same pool with
// the same begin, enter and commit.
package findbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cairn/internal/host"
	"cairn/internal/search"
	"cairn/internal/store"
)

// Row is one size.
type Row struct {
	Memories   int     `json:"memories"`
	Workspaces int     `json:"workspaces"`
	Dims       int     `json:"dimensions"`
	Graph      bool    `json:"graph"` // HNSW of the workspace's own
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	BareP50    float64 `json:"bare_p50_ms"`
	BareP99    float64 `json:"bare_p99_ms"`
	Recall     float64 `json:"recall_at_10,omitempty"` // of the graph's results, of those without it
	PerSecond  float64 `json:"stored_per_second"`
}

const (
	queries = 100
	warm    = 15
	page    = 1000
	limit   = 10
)

// Bench is one database with workspaces of one size.
type Bench struct {
	Host     *host.Host
	Memories int // in each workspace
	ids      []int64
	stored   time.Duration
	words    *words
}

// Fill makes workspaces of memories.
func Fill(ctx context.Context, h *host.Host, workspaces, memories int, seed uint64) (*Bench, error) {
	b := &Bench{Host: h, Memories: memories, words: newWords(seed)}
	started := time.Now()
	for n := range workspaces {
		ws, err := h.Store.Workspace(ctx, fmt.Sprintf("find-%d-%d", memories, n), true)
		if err != nil {
			return nil, err
		}
		b.ids = append(b.ids, ws.ID)
		for at := 0; at < memories; at += page {
			if err := b.store(ctx, ws.ID, at, min(page, memories-at)); err != nil {
				return nil, fmt.Errorf("fill: %w", err)
			}
		}
	}
	b.stored = time.Since(started)
	return b, nil
}

func (b *Bench) store(ctx context.Context, ws int64, from, n int) error {
	docs, texts := make([]search.Doc, n), make([]string, n)
	for i := range n {
		texts[i] = b.words.text(22)
		docs[i] = search.NewDoc(search.KindMemory, int64(from+i+1), "active", texts[i])
		docs[i].Type = "personal"
	}
	vectors, err := b.Host.Embedder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	return b.Host.Store.WithWorkspace(ctx, ws, func(q store.Queries) error {
		ids, err := q.IndexNew(ctx, docs)
		if err != nil {
			return err
		}
		return q.PutEmbeddings(ctx, ids, b.Host.Space, vectors)
	})
}

// Measure asks as many questions both ways, in turn.
func (b *Bench) Measure(ctx context.Context) (Row, error) {
	r := Row{Memories: b.Memories, Workspaces: len(b.ids), Dims: b.Host.Embedder.Dims(), PerSecond: float64(b.Memories*len(b.ids)) / b.stored.Seconds()}
	var ours, bare []time.Duration
	for i, question := range b.questions() {
		ws := b.ids[i%len(b.ids)]
		started := time.Now()
		if _, err := b.Host.Finder.Find(ctx, ws, search.Request{Query: question, Limit: limit}); err != nil {
			return r, err
		}
		took := time.Since(started)
		vs, err := b.Host.Embedder.Embed(ctx, []string{question})
		if err != nil {
			return r, err
		}
		started = time.Now()
		if err := b.Host.Store.WithWorkspace(ctx, ws, func(q store.Queries) error {
			_, err := q.Nearest(ctx, b.Host.Space, vs[0], limit)
			return err
		}); err != nil {
			return r, err
		}
		if i >= warm {
			ours, bare = append(ours, took), append(bare, time.Since(started))
		}
	}
	r.P50, r.P99, r.BareP50, r.BareP99 = percentile(ours, 0.5), percentile(ours, 0.99), percentile(bare, 0.5), percentile(bare, 0.99)
	return r, nil
}

// Graph gives the first workspace its graph and measures what that changes.
func (b *Bench) Graph(ctx context.Context) (Row, error) {
	exact, err := b.answers(ctx)
	if err != nil {
		return Row{}, err
	}
	if err := store.GraphVectors(ctx, b.Host.Config.DatabaseURL, b.ids[0], b.Host.Space); err != nil {
		return Row{}, err
	}
	near, err := b.answers(ctx)
	if err != nil {
		return Row{}, err
	}
	same, all := 0, 0
	for i := range exact {
		for _, text := range exact[i] {
			all++
			if slices.Contains(near[i], text) {
				same++
			}
		}
	}
	r, err := b.Measure(ctx)
	r.Graph, r.Recall = true, float64(same)/float64(max(1, all))
	return r, err
}

func (b *Bench) answers(ctx context.Context) ([][]string, error) {
	var out [][]string
	for _, question := range b.questions() {
		found, err := b.Host.Finder.Find(ctx, b.ids[0], search.Request{Query: question, Limit: limit})
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

// questions are the same ones at every call.
func (b *Bench) questions() []string {
	w := newWords(99)
	out := make([]string, queries+warm)
	for i := range out {
		out[i] = w.text(6)
	}
	return out
}

// words are made up and as unevenly frequent as those of a language.
type words struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newWords(seed uint64) *words {
	random := rand.New(rand.NewPCG(seed, 7))
	return &words{random: random, zipf: rand.NewZipf(random, 1.1, 20, 30_000)}
}

var syllables = strings.Fields("ba ke li mo nu ra se ti vo zu da fe gi ho ju pa")

func (w *words) text(n int) string {
	out := make([]string, n)
	for i := range out {
		var word strings.Builder
		for k := w.zipf.Uint64() + 256; k > 0; k /= 16 {
			word.WriteString(syllables[k%16])
		}
		out[i] = word.String()
	}
	return strings.Join(out, " ")
}

func percentile(ds []time.Duration, p float64) float64 {
	slices.Sort(ds)
	return float64(ds[min(len(ds)-1, int(p*float64(len(ds))))].Microseconds()) / 1000
}
