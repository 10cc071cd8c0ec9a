package speed

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/dump"
	memories "cairn/internal/service/memory"
)

// LoadResult is the result of a measurement. Rates are memories per second.
type LoadResult struct {
	Memories int     `json:"memories"`
	Targets  int     `json:"targets"`
	Bytes    int64   `json:"dump_bytes"`
	Batch    float64 `json:"batch_per_second"` // saved in batches of 500
	HTTP     float64 `json:"http_per_second"`  // the same over HTTP, by POST /v1/memories/batch
	Mem0     float64 `json:"mem0_per_second"`  // the same over mem0's route, with infer false
	One      float64 `json:"one_per_second"`   // one in each request to mem0's route, one after the other
	Load     float64 `json:"load_per_second"`  // loaded from a dump without vectors
	Vectors  float64 `json:"load_with_vectors_per_second"`
	Repeat   float64 `json:"repeat_per_second"` // loaded again
}

// batch is the number of memories in one request.
const batch = 500

// targets is the number of persons that the memories are about.
const targets = 200

// MeasureLoads measures how fast memories are saved in batches and loaded from a dump.
//
//	result, err := speed.MeasureLoads(ctx, app, 20000, 1)
func MeasureLoads(ctx context.Context, h *app.App, n int, seed uint64) (LoadResult, error) {
	out := LoadResult{Memories: n, Targets: min(n, targets)}
	from, err := h.Store.Workspace(ctx, "batch", true)
	if err != nil {
		return out, err
	}
	if out.Batch, err = rate(n, func() error { return save(ctx, h, from.ID, n, seed) }); err != nil {
		return out, err
	}
	if err := out.overHTTP(ctx, h, n, seed); err != nil {
		return out, err
	}
	if out.Vectors, _, err = load(ctx, h, from.ID, "vectors", n, dump.Options{Vectors: true}); err != nil {
		return out, err
	}
	if out.Load, out.Bytes, err = load(ctx, h, from.ID, "load", n, dump.Options{}); err != nil {
		return out, err
	}
	out.Repeat, _, err = load(ctx, h, from.ID, "load", 0, dump.Options{})
	return out, err
}

// load dumps a workspace to a file and loads the file into the workspace with a name. It returns
// the rate of the load and the size of the file.
func load(ctx context.Context, h *app.App, from int64, name string, want int, o dump.Options) (float64, int64, error) {
	to, err := h.Store.Workspace(ctx, name, true)
	if err != nil {
		return 0, 0, err
	}
	file, err := os.CreateTemp("", "cairn-bench-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := h.Dumps.Dump(ctx, from, file, o); err != nil {
		return 0, 0, err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, 0, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, 0, err
	}
	a := agent.Actor{Workspace: to.ID, Origin: agent.OriginUser, Op: rand.Text()}
	began := time.Now()
	loaded, err := h.Dumps.Load(ctx, a, file)
	if err == nil && loaded.Memories != want {
		err = fmt.Errorf("%d memories were loaded, want %d", loaded.Memories, want)
	}
	return float64(loaded.Memories+loaded.Existing) / time.Since(began).Seconds(), size, err
}

// rate returns how many of n rows per second f takes.
func rate(n int, f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return float64(n) / time.Since(began).Seconds(), err
}

// save saves n memories in batches.
func save(ctx context.Context, h *app.App, ws int64, n int, seed uint64) error {
	rows := corpus.Synthetic(seed)
	for at := 0; at < n; at += batch {
		var in []memories.BatchMemory
		for i := at; i < min(at+batch, n); i++ {
			said := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
			in = append(in, memories.BatchMemory{Type: memory.Personal, Target: fmt.Sprintf("Person %d", i%targets),
				NewMemory: memories.NewMemory{Content: rows.Text(i), EventTime: &said}})
		}
		items, err := h.LongTerm.AddBatch(ctx,
			agent.Actor{Workspace: ws, Origin: agent.OriginUser, Op: fmt.Sprintf("batch %d", at)}, in)
		if err != nil {
			return err
		}
		for _, i := range items {
			if i.ID == "" {
				return fmt.Errorf("memory %d: %s", at+i.Index, i.Message)
			}
		}
	}
	return nil
}
