package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/tempcairn"
)

func (p *program) console() *cobra.Command {
	rows, samples := 10_000, 20
	cmd := p.benchmark(&cobra.Command{
		Use: "console", Short: "Measure the pages of the web console and enforce their budgets",
		Example: "  cairn-bench console\n  cairn-bench console --rows 100000",
	}, func(ctx context.Context) error {
		if rows < 1000 || samples < 1 {
			return cli.UsageError(fmt.Errorf("invalid --rows %d or --samples %d: use at least 1000 rows and 1 sample",
				rows, samples))
		}
		return p.runConsole(ctx, rows, samples)
	})
	cmd.Flags().IntVar(&rows, "rows", rows, "rows in each table")
	cmd.Flags().IntVar(&samples, "samples", samples, "requests of each page")
	return cmd
}

func (p *program) runConsole(ctx context.Context, rows, samples int) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	h, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{}, p.errs)
	if err != nil {
		return err
	}
	defer done()
	pages, err := speed.RunConsole(ctx, h, rows, samples)
	if err != nil {
		return err
	}
	var slow error
	for _, one := range pages {
		if why := one.Missed(); why != "" {
			slow = errors.Join(slow, fmt.Errorf("%s: %s", one.Name, why))
		}
	}
	return errors.Join(p.measured(pages, func(w io.Writer) error {
		fmt.Fprintf(w, "%d rows in each table, %d requests of each page\n", rows, samples)
		for _, one := range pages {
			if _, err := fmt.Fprintf(w, "%-36s p50 %6.1f ms  p95 %6.1f ms  %6.1f KB gzip  %s\n", one.Name, one.P50,
				one.P95, one.KB, one.Missed()); err != nil {
				return err
			}
		}
		return nil
	}), missed(slow))
}
