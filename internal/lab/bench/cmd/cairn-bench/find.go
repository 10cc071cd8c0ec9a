package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/findbench"
	"cairn/internal/lab/tempcairn"
)

// findOptions configures the measurement of hybrid retrieval.
type findOptions struct {
	sizes         []string // workspaces x memories per workspace
	dims          []int
	buffers, plot string
	graphFrom     int // minimum memories of a workspace with a graph
}

func (p *program) find() *cobra.Command {
	var o findOptions
	cmd := p.benchmark(&cobra.Command{
		Use:   "find",
		Short: "Measure hybrid retrieval by workspace size, compared with exact vector search",
		Example: "  cairn-bench find --sizes 1x1000 --dims 384 --buffers 128MB\n" +
			"  cairn-bench find --plot retrieval.svg",
	}, func(ctx context.Context) error {
		if len(o.sizes) == 0 || len(o.dims) == 0 {
			return cli.UsageError(errors.New("--sizes and --dims need at least one value"))
		}
		return p.runFind(ctx, o)
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&o.sizes, "sizes", []string{"1x1000", "1x10000", "1x100000", "1000x1000"},
		"workspaces x memories per workspace, comma separated")
	flags.IntSliceVar(&o.dims, "dims", []int{384, 1536}, "dimensions, comma separated")
	flags.StringVar(&o.buffers, "buffers", "2GB", "shared_buffers of the database")
	flags.IntVar(&o.graphFrom, "graph-from", 100_000,
		"also measure workspaces with at least this many memories with a graph")
	flags.StringVar(&o.plot, "plot", "", "write a chart of latency by workspace size to this SVG file")
	return cmd
}

// runFind measures all sizes. It returns an error at the end if a goal was missed.
func (p *program) runFind(ctx context.Context, o findOptions) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	type size struct{ workspaces, memories int }
	var sizes []size
	for _, text := range o.sizes {
		var s size
		if _, err := fmt.Sscanf(text, "%dx%d", &s.workspaces, &s.memories); err != nil || s.workspaces < 1 ||
			s.memories < 1 {
			return cli.UsageError(fmt.Errorf("invalid --sizes %q: use workspaces x memories, such as 1x1000",
				text))
		}
		sizes = append(sizes, s)
	}
	var rows []findbench.Row
	var slow error
	show := func(r findbench.Row) {
		rows = append(rows, r)
		if r.Missed() != "" {
			slow = errors.New("a goal was missed")
		}
		p.printFound(r)
	}
	for i, s := range sizes {
		if err := p.measureSize(ctx, o, s.workspaces, s.memories, show); err != nil {
			return fmt.Errorf("%s: %w", o.sizes[i], err)
		}
	}
	if o.plot == "" {
		return missed(slow)
	}
	return errors.Join(os.WriteFile(o.plot, []byte(findbench.Plot(rows)), 0o644), missed(slow))
}

// measureSize fills one database and searches it with vectors of each dimension.
func (p *program) measureSize(ctx context.Context, o findOptions, workspaces, memories int,
	show func(findbench.Row)) error {
	first, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{Dims: o.dims[0], Buffers: o.buffers}, p.errs)
	if err != nil {
		return err
	}
	defer done()
	hosts := []*app.App{first}
	for _, d := range o.dims[1:] {
		config := first.Config
		config.EmbeddingDimensions = d
		h, err := app.Open(ctx, config, slog.New(slog.DiscardHandler))
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

// printFound prints the result of a size: one line, or JSON with -o json.
func (p *program) printFound(r findbench.Row) {
	if p.output == "json" {
		_ = json.NewEncoder(p.out).Encode(r)
		return
	}
	line := fmt.Sprintf("%d x %d, %d dims: p50 %.2f ms, p99 %.2f; bare exact p50 %.2f, p99 %.2f; ratio %.2f; %.0f "+
		"bytes each", r.Workspaces, r.Memories, r.Dims, r.P50, r.P99, r.BareP50, r.BareP99, r.P50/r.BareP50, r.Bytes)
	if r.PerSecond > 0 {
		line += fmt.Sprintf("; stored %.0f/s", r.PerSecond)
	} else {
		line += fmt.Sprintf("; copied in %.0f s", r.Filled)
	}
	if r.Graph {
		line += fmt.Sprintf("; graph of %.0f bytes each in %.0f s, recall@10 %.3f of exact, %.3f and %.3f with "+
			"filters of 1 %% and 30 %%, answers@10 %.3f",
			r.GraphBytes, r.Build, r.Recall, r.Narrow, r.Wide, r.Answers)
	}
	if why := r.Missed(); why != "" {
		line += "; MISSED: " + why
	}
	fmt.Fprintln(p.out, line)
}
