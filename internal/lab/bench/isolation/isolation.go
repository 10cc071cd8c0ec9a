// Package isolation checks that workspaces are isolated. Many workspaces use one Cairn in
// parallel through the Go client, HTTP, the routes of mem0 and MCP. It compares all responses
// with a model of each workspace in memory. Workspaces use the same texts for the same
// targets, and each tries to access objects of others.
package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/app"
	"cairn/internal/gateway/httpapi"
)

// Options sets the size of the experiment.
type Options struct {
	Workspaces int // 0 means 50
	Operations int // total number of operations; 0 means 10,000
	AtOnce     int // maximum parallel workspaces; 0 means all
	Seed       uint64
	Log        io.Writer // progress messages; nil discards them
}

// Result holds the counts of the experiment.
type Result struct {
	Seed        uint64         `json:"seed"`
	Workspaces  int            `json:"workspaces"`
	Operations  int            `json:"operations"`
	Wanted      int            `json:"operations_wanted"`
	By          map[string]int `json:"by"`      // number of operations by kind
	Strangers   int            `json:"foreign"` // operations on objects of another workspace
	Compared    int            `json:"compared"`
	Crossings   int            `json:"crossings"`   // responses with data of another workspace
	Differences int            `json:"differences"` // responses that differ from the model
	First       []string       `json:"first,omitempty"`
	Seconds     float64        `json:"seconds"`
}

// Held reports whether all responses were correct and all operations were done.
func (r Result) Held() bool {
	return r.Crossings == 0 && r.Differences == 0 && r.Operations == r.Wanted && r.Compared > 0 && r.Strangers > 0
}

// Print writes the counts.
func (r Result) Print(w io.Writer) error {
	verdict := "held"
	if !r.Held() {
		verdict = "BROKEN"
	}
	_, err := fmt.Fprintf(w, "%d of %d operations by %d parallel workspaces in %.0f s (seed %d): %v\n%d operations on "+
		"objects of another workspace\n%d memories compared with the model: %d differences, %d crossings: %s\n",
		r.Operations, r.Wanted, r.Workspaces, r.Seconds, r.Seed, r.By, r.Strangers, r.Compared, r.Differences,
		r.Crossings, verdict)
	for _, what := range r.First {
		fmt.Fprintln(w, "  "+what)
	}
	return err
}

// shown is the maximum number of differences in the output.
const shown = 10

// tally holds the counters of all workspaces.
type tally struct {
	mu        sync.Mutex
	result    Result
	done      atomic.Int64
	strangers sync.Map // ID → name of its workspace
}

func (t *tally) count(what string, foreign bool) {
	t.done.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.By[what]++
	if foreign {
		t.result.Strangers++
	}
}

func (t *tally) wrong(crossing bool, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if crossing {
		t.result.Crossings++
	} else {
		t.result.Differences++
	}
	if len(t.result.First) < shown {
		t.result.First = append(t.result.First, fmt.Sprintf(format, args...))
	}
}

// Run runs the experiment on h, whose rate limit must be off.
func Run(ctx context.Context, h *app.App, o Options) (Result, error) {
	if o.Workspaces == 0 {
		o.Workspaces = 50
	}
	if o.Operations == 0 {
		o.Operations = 10_000
	}
	if o.AtOnce == 0 {
		o.AtOnce = o.Workspaces
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	each := o.Operations / o.Workspaces
	t := &tally{result: Result{Seed: o.Seed, Workspaces: o.Workspaces, Wanted: each * o.Workspaces,
		By: map[string]int{}}}
	server := httptest.NewServer(h.Gateway(httpapi.NoMeter))
	defer server.Close()
	worlds := make([]*world, o.Workspaces)
	for i := range worlds {
		var err error
		if worlds[i], err = open(ctx, h, server.URL, i, o.Seed, t); err != nil {
			return t.result, err
		}
		defer worlds[i].close()
	}
	began := time.Now()
	stop := progress(o.Log, t, began)
	defer stop()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(o.AtOnce)
	for _, w := range worlds {
		group.Go(func() error {
			for range each {
				if err := w.step(within); err != nil {
					return fmt.Errorf("workspace %s: %w", w.name, err)
				}
			}
			return w.compare(within)
		})
	}
	err := group.Wait()
	t.result.Operations, t.result.Seconds = int(t.done.Load()), time.Since(began).Seconds()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // the time limit was reached; the counts show missing operations
	}
	return t.result, err
}

func progress(to io.Writer, t *tally, began time.Time) (stop func()) {
	if to == nil {
		return func() {}
	}
	tick, done := time.NewTicker(5*time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(to, "%4.0f s: %d operations\n", time.Since(began).Seconds(), t.done.Load())
			case <-done:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(done) }
}
