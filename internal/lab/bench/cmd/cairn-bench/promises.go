package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/lab/bench/chaos"
	"cairn/internal/lab/bench/clients"
	"cairn/internal/lab/bench/isolation"
	"cairn/internal/lab/bench/production"
	"cairn/internal/lab/bench/soak"
	"cairn/internal/lab/tempcairn"
)

// Experiments that count violations under load and faults.

func (p *program) chaos() *cobra.Command {
	o := chaos.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "chaos", Short: "Crash workers and servers under distillations and count lost or doubled effects",
		Example: "  cairn-bench chaos -n 40 --skills 8 --spread 10s",
	}, func(ctx context.Context) error {
		result, err := chaos.Run(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Distillations, "distillations", "n", 200, "number of distillations")
	flags.IntVar(&o.Skills, "skills", 40, "number of distinct skills, at most 40")
	flags.DurationVar(&o.KillEvery, "kill", 0, "interval between kills of the worker (default 3s)")
	flags.DurationVar(&o.Reply, "reply", 0, "response time of the model (default 20ms)")
	flags.DurationVar(&o.Spread, "spread", 0, "time over which requests arrive (default 40s)")
	flags.Uint64Var(&o.Seed, "seed", 0, "random seed; 0 means a random one")
	return cmd
}

func (p *program) soak() *cobra.Command {
	o := soak.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "soak", Short: "Kill the worker during parallel conversations and count lost turns",
		Example: "  cairn-bench soak -n 10 --turns 5 --kill 3s",
	}, func(ctx context.Context) error {
		result, err := soak.Run(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Conversations, "conversations", "n", 100, "number of conversations")
	flags.IntVar(&o.Turns, "turns", 20, "number of turns per conversation")
	flags.IntVar(&o.AtOnce, "at-once", 0, "maximum parallel turns (default: the number of conversations)")
	flags.DurationVar(&o.KillEvery, "kill", 0, "interval between kills of the worker (default 10s)")
	flags.DurationVar(&o.Reply, "reply", 0, "response time of the model (default 20ms)")
	flags.BoolVar(&o.Restore, "restore", false, "restore the database from a dump in the middle (default false)")
	flags.Uint64Var(&o.Seed, "seed", 0, "random seed; 0 means a random one")
	return cmd
}

func (p *program) streamChaos() *cobra.Command {
	o := chaos.StreamOptions{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use:     "stream-chaos",
		Short:   "Kill the worker during streamed chats and compare what clients get with the stored replies",
		Example: "  cairn-bench stream-chaos -n 10",
	}, func(ctx context.Context) error {
		result, err := chaos.RunStreams(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Kills, "kills", "n", 200, "number of kills of the worker")
	flags.DurationVar(&o.KillEvery, "kill", 0, "interval between kills (default 3s)")
	flags.IntVar(&o.AtOnce, "at-once", 8, "number of streams at the same time")
	return cmd
}

func (p *program) channelChaos() *cobra.Command {
	o := chaos.ChannelOptions{Log: p.errs, Crashes: true}
	cmd := p.benchmark(&cobra.Command{
		Use:     "channel-chaos",
		Short:   "Kill gateway and worker while people write over fakes of chat platforms, then count the replies",
		Example: "  cairn-bench channel-chaos --people 10 -n 50",
	}, func(ctx context.Context) error {
		result, err := chaos.RunChannels(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntVarP(&o.Messages, "messages", "n", 1000, "number of messages")
	flags.IntVar(&o.People, "people", 50, "number of people, divided among the platforms")
	flags.DurationVar(&o.KillEvery, "kill", 0, "interval between kills of the gateway, and of the worker (default 5s)")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the gaps and faults")
	return cmd
}

func (p *program) isolation() *cobra.Command {
	o := isolation.Options{Log: p.errs}
	limit := 10 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "isolation", Short: "Check the isolation of many workspaces that use all APIs at once",
		Example: "  cairn-bench isolation --workspaces 5 -n 200",
	}, func(ctx context.Context) error {
		h, done, err := tempcairn.OpenDatabase(
			ctx,
			tempcairn.Options{},
			p.errs,
		) // the database contains only rows of the experiment
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
	flags.IntVar(&o.Workspaces, "workspaces", 0, "number of workspaces (default 50)")
	flags.IntVarP(&o.Operations, "operations", "n", 0, "total number of operations (default 10000)")
	flags.Uint64Var(&o.Seed, "seed", 0, "random seed; 0 means a random one")
	flags.DurationVar(&limit, "limit", limit, "time limit; unfinished operations fail the experiment")
	return cmd
}

func (p *program) production() *cobra.Command {
	o := production.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "production", Short: "Cause faults in a deployment with a pooler and a replica, and attack it",
		Long: "Run workers and gateways behind PgBouncer, with a replica of Postgres and a Temporal server of their " +
			"own. Cause a fault\nor an attack in each step, and print what must hold and what was observed. The " +
			"numbers of the steps are:\n1 work through the pooler, 2 lost roles, 3 Temporal away, 4 failover of " +
			"Postgres, 5 restore of a dump and of a base backup\nwith WAL, 7 SIGTERM of gateways, 9 attacks.",
		Example: "  cairn-bench production --small --steps 4,5",
	}, func(ctx context.Context) error {
		o.GoTests = !o.Small
		result, err := production.Run(ctx, o)
		if len(result.Rows) == 0 {
			return err
		}
		// Print the observations also if the experiment was interrupted.
		return errors.Join(err, p.measured(result, result.Print), held(result.Held()))
	})
	flags := cmd.Flags()
	flags.IntSliceVar(&o.Steps, "steps", nil, "numbers of steps, separated by commas (default all)")
	flags.BoolVar(&o.Small, "small", false, "run a small experiment, without the tests of edges (default false)")
	flags.StringVar(&o.Cairn, "cairn", "", "path of the cairn binary (default: build it)")
	flags.StringVar(&o.Worker, "worker", "", "path of the worker binary (default: build it)")
	flags.IntVar(&o.Workspaces, "workspaces", 0, "number of workspaces in step 1 (default 20; small: 4)")
	flags.IntVar(&o.Turns, "turns", 0, "number of turns in step 1 (default 200; small: 12)")
	flags.DurationVar(&o.Away, "away", 0, "time without Temporal in step 3 (default 1m; small: 4s)")
	flags.IntVar(&o.Lost, "lost", 0, "number of turns after each backup in step 5 (default 30; small: 6)")
	flags.DurationVar(&o.Limit, "limit", 0, "time limit; steps that are not reached fail the experiment (default 25m; "+
		"small: 15m)")
	return cmd
}

func (p *program) clients() *cobra.Command {
	var program, report string
	limit := 15 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "clients", Short: "Run client programs of other projects against the gateway",
		Long: "Run mem0's clients for JavaScript and Python, the conformance suite and the Inspector of MCP, and a " +
			"validator of skills, and print each call with its result.\nIt needs npm, Python and a package index, " +
			"and reads clients/mem0: run it in a clone of Cairn.",
		Example: "  cairn-bench clients --report mcp-conformance.md",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.runClients(ctx, program, report)
	})
	flags := cmd.Flags()
	flags.StringVar(&program, "cairn", "bin/cairn", "path of the cairn binary, built with make build")
	flags.StringVar(&report, "report", "", "write the results of the MCP programs to this file")
	flags.DurationVar(&limit, "limit", limit, "time limit; unfinished calls fail")
	return cmd
}

func (p *program) openAI() *cobra.Command {
	var program string
	limit := 15 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use:     "openai-sdk",
		Short:   "Run OpenAI's clients for JavaScript and Python (needs npm, Python and a package index)",
		Example: "  cairn-bench openai-sdk",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		program, err := filepath.Abs(program)
		if err != nil {
			return err
		}
		result, err := clients.RunOpenAI(ctx, clients.Options{Program: program, Log: p.errs})
		return errors.Join(p.measured(result, result.Print), err, held(result.Held()))
	})
	cmd.Flags().StringVar(&program, "cairn", "bin/cairn", "path of the cairn binary, built with make build")
	cmd.Flags().DurationVar(&limit, "limit", limit, "time limit; unfinished calls fail")
	return cmd
}

func (p *program) channelSDKs() *cobra.Command {
	limit := 15 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use:   "channels-sdk",
		Short: "Run the SDKs of chat platforms with Cairn's fakes (needs Python and a package index)",
		Long: "Run clients/channels/PLATFORM/check.py with the fake of each platform, and print how many checks " +
			"passed.\nIt builds the fakes: run it in a clone of Cairn. SDKs are installed once, into Cairn's cache.",
		Example: "  cairn-bench channels-sdk",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		result, err := clients.RunChannels(ctx, p.errs)
		if len(result.Rows) == 0 {
			return err
		}
		return errors.Join(p.measured(result, result.PrintSummary), err, held(result.Held()))
	})
	cmd.Flags().DurationVar(&limit, "limit", limit, "time limit; unfinished checks fail")
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
