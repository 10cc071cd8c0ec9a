package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/lab"
	"cairn/internal/bench/chaos"
	"cairn/internal/bench/clients"
	"cairn/internal/bench/isolation"
	"cairn/internal/bench/soak"
)

// Experiments: what is promised, counted while much is done to break it.

func (p *program) chaos() *cobra.Command {
	o := chaos.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "chaos", Short: "Kill workers, Postgres and Temporal under distillations, then count what was lost, " +
			"doubled or paid twice",
		Example: "  cairn-bench chaos -n 40 --skills 8 --spread 10s",
	}, func(ctx context.Context) error {
		result, err := chaos.Run(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Distillations, "distillations", "n", 200, "that are asked for")
	flags.IntVar(&o.Skills, "skills", 40, "distinct skills, at most 40")
	flags.DurationVar(&o.KillEvery, "kill", 0, "how often the worker is killed (default 3s)")
	flags.DurationVar(&o.Reply, "reply", 0, "that the model takes (default 20ms)")
	flags.DurationVar(&o.Spread, "spread", 0, "over which the requests come in (default 40s)")
	flags.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	return cmd
}

func (p *program) soak() *cobra.Command {
	o := soak.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "soak", Short: "Have many conversations at once while their worker is killed again and again, then count",
		Example: "  cairn-bench soak -n 10 --turns 5 --kill 3s",
	}, func(ctx context.Context) error {
		result, err := soak.Run(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Conversations, "conversations", "n", 100, "that are had")
	flags.IntVar(&o.Turns, "turns", 20, "of each")
	flags.IntVar(&o.AtOnce, "at-once", 0, "turns under way at once, at most (default as many as conversations)")
	flags.DurationVar(&o.KillEvery, "kill", 0, "how often the worker is killed (default 10s)")
	flags.DurationVar(&o.Reply, "reply", 0, "that the model takes (default 20ms)")
	flags.DurationVar(&o.Goal, "goal", 0, "for the time of all of it (default 5m)")
	flags.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	return cmd
}

func (p *program) isolation() *cobra.Command {
	o := isolation.Options{Log: p.errs}
	limit := 10 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "isolation", Short: "Have many workspaces use one Cairn at once through all of its doors, and compare " +
			"every answer with a model in memory",
		Example: "  cairn-bench isolation --workspaces 5 -n 200",
	}, func(ctx context.Context) error {
		h, done, err := lab.OpenDatabase(ctx, lab.Options{}, p.errs) // the rows that are counted are all that there are
		if err != nil {
			return err
		}
		defer done()
		h.Config.RateLimit = 0
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		result, err := isolation.Run(ctx, h, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVar(&o.Workspaces, "workspaces", 0, "at once (default 50)")
	flags.IntVarP(&o.Operations, "operations", "n", 0, "of all of them (default 10000)")
	flags.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	flags.DurationVar(&limit, "limit", limit, "what is not done by then is missing, and the experiment fails")
	return cmd
}

func (p *program) clients() *cobra.Command {
	var program, report string
	limit := 15 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "clients", Short: "Install programs of others that speak to Cairn and run every call of theirs against " +
			"its gateway (needs npm)",
		Example: "  cairn-bench clients --report mcp-conformance.md",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.runClients(ctx, program, report)
	})
	flags := cmd.Flags()
	flags.StringVar(&program, "cairn", "bin/cairn", "the command line that they speak to, as make build leaves it")
	flags.StringVar(&report, "report", "", "write what the programs of MCP say to this file")
	flags.DurationVar(&limit, "limit", limit, "what is not done by then has failed")
	return cmd
}

func (p *program) runClients(ctx context.Context, program, report string) (err error) {
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	result, err := clients.Run(ctx, clients.Options{Program: program, Log: p.errs})
	if printed := p.measured(result, result.Print); err == nil {
		err = printed
	}
	if err != nil || report == "" {
		return errors.Join(err, held(result.Held()))
	}
	f, err := os.Create(report)
	if err != nil {
		return err
	}
	if err := result.Report(f, time.Now()); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Close(), held(result.Held()))
}
