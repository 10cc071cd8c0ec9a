// Command bench-find measures hybrid retrieval at several sizes of workspace
// beside the bare exact search by vector.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"cairn/internal/eval/findbench"
	"cairn/internal/eval/retrieval"
)

func main() {
	sizes := flag.String("sizes", "1x1000,1x10000,1x100000,100x1000", "workspaces x memories in each, comma separated")
	dims := flag.String("dims", "384", "dimensions, comma separated")
	graphFrom := flag.Int("graph-from", 100_000, "workspaces of at least so many memories are measured with their own graph, too")
	plot := flag.String("plot", "", "draw the growth of one workspace into this SVG file")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Hour)
	defer cancel()
	var rows []findbench.Row
	for _, d := range strings.Split(*dims, ",") {
		n, err := strconv.Atoi(d)
		if err == nil {
			err = measure(ctx, n, *sizes, *graphFrom, func(r findbench.Row) { show(r, *output); rows = append(rows, r) })
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench-find:", err)
			os.Exit(1)
		}
	}
	if *plot != "" {
		if err := os.WriteFile(*plot, []byte(findbench.Plot(rows)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "bench-find:", err)
			os.Exit(1)
		}
	}
}

func measure(ctx context.Context, dims int, sizes string, graphFrom int, show func(findbench.Row)) error {
	for _, size := range strings.Split(sizes, ",") {
		var workspaces, memories int
		if _, err := fmt.Sscanf(size, "%dx%d", &workspaces, &memories); err != nil {
			return fmt.Errorf("read the size %q: %w", size, err)
		}
		if err := one(ctx, dims, workspaces, memories, graphFrom, show); err != nil {
			return err
		}
	}
	return nil
}

func one(ctx context.Context, dims, workspaces, memories, graphFrom int, show func(findbench.Row)) error {
	h, done, err := retrieval.OpenLab(ctx, dims, os.Stderr)
	if err != nil {
		return err
	}
	defer done()
	b, err := findbench.Fill(ctx, h, workspaces, memories, 1)
	if err != nil {
		return err
	}
	row, err := b.Measure(ctx)
	if err != nil {
		return err
	}
	show(row)
	if memories < graphFrom || workspaces > 1 {
		return nil
	}
	if row, err = b.Graph(ctx); err != nil {
		return err
	}
	show(row)
	return nil
}

func show(r findbench.Row, output string) {
	if output == "json" {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	graph := "exact"
	if r.Graph {
		graph = fmt.Sprintf("graph, recall@10 %.3f of exact", r.Recall)
	}
	fmt.Printf("%d x %d, %d dims: p50 %.2f ms, p99 %.2f; bare exact p50 %.2f, p99 %.2f; ratio %.2f; stored %.0f/s; %s\n", r.Workspaces, r.Memories, r.Dims, r.P50, r.P99, r.BareP50, r.BareP99, r.P50/r.BareP50, r.PerSecond, graph)
}
