// Command bench-find measures hybrid retrieval at several sizes of workspace
// beside the bare exact search by vector. It exits with 1 when a goal is missed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"cairn/internal/eval/command"
	"cairn/internal/eval/findbench"
	"cairn/internal/eval/retrieval"
	"cairn/internal/host"
)

type options struct {
	sizes, dims, buffers, plot, output string
	graphFrom                          int
}

func main() { command.Run("bench-find", run) }

// run measures all sizes; that a goal is missed is an error at the end.
func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.sizes, "sizes", "1x1000,1x10000,1x100000,1000x1000", "workspaces x memories in each, comma separated")
	flag.StringVar(&o.dims, "dims", "384,1536", "dimensions, comma separated")
	flag.StringVar(&o.buffers, "buffers", "2GB", "shared_buffers of the database")
	flag.IntVar(&o.graphFrom, "graph-from", 100_000, "workspaces of at least so many memories are measured with their own graph, too")
	flag.StringVar(&o.plot, "plot", "", "draw the growth of one workspace into this SVG file")
	flag.StringVar(&o.output, "o", "text", "text or json")
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var dims []int
	for _, d := range strings.Split(o.dims, ",") {
		n, err := strconv.Atoi(d)
		if err != nil {
			return fmt.Errorf("read the dimensions: %w", err)
		}
		dims = append(dims, n)
	}
	var rows []findbench.Row
	missed := false
	show := func(r findbench.Row) {
		rows = append(rows, r)
		missed = missed || r.Missed() != ""
		print(r, o.output)
	}
	for _, size := range strings.Split(o.sizes, ",") {
		var workspaces, memories int
		if _, err := fmt.Sscanf(size, "%dx%d", &workspaces, &memories); err != nil {
			return fmt.Errorf("read the size %q: %w", size, err)
		}
		if err := measure(ctx, o, dims, workspaces, memories, show); err != nil {
			return fmt.Errorf("%s: %w", size, err)
		}
	}
	if o.plot == "" {
		return command.Held(!missed)
	}
	return errors.Join(os.WriteFile(o.plot, []byte(findbench.Plot(rows)), 0o644), command.Held(!missed))
}

// measure fills one database and searches it with vectors of all dimensions.
func measure(ctx context.Context, o options, dims []int, workspaces, memories int, show func(findbench.Row)) error {
	first, done, err := retrieval.OpenLab(ctx, retrieval.Lab{Dims: dims[0], Buffers: o.buffers}, os.Stderr)
	if err != nil {
		return err
	}
	defer done()
	hosts := []*host.Host{first}
	for _, d := range dims[1:] {
		c := first.Config
		c.EmbeddingDimensions = d
		h, err := host.Open(ctx, c, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			return err
		}
		defer h.Close()
		hosts = append(hosts, h)
	}
	benches, err := findbench.Fill(ctx, hosts, workspaces, memories)
	if err != nil {
		return err
	}
	for _, b := range benches {
		r, err := b.Measure(ctx)
		if err != nil {
			return err
		}
		show(r)
		if memories < o.graphFrom || workspaces > 1 {
			continue
		}
		g, err := b.Graph(ctx)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		show(g)
	}
	return nil
}

func print(r findbench.Row, output string) {
	if output == "json" {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	line := fmt.Sprintf("%d x %d, %d dims: p50 %.2f ms, p99 %.2f; bare exact p50 %.2f, p99 %.2f; ratio %.2f; %.0f bytes each", r.Workspaces, r.Memories, r.Dims, r.P50, r.P99, r.BareP50, r.BareP99, r.P50/r.BareP50, r.Bytes)
	if r.PerSecond > 0 {
		line += fmt.Sprintf("; stored %.0f/s", r.PerSecond)
	} else {
		line += fmt.Sprintf("; copied in %.0f s", r.Filled)
	}
	if r.Graph {
		line += fmt.Sprintf("; graph of %.0f bytes each in %.0f s, recall@10 %.3f of exact, answers@10 %.3f", r.GraphBytes, r.Build, r.Recall, r.Answers)
	}
	if why := r.Missed(); why != "" {
		line += "; MISSED: " + why
	}
	fmt.Println(line)
}
