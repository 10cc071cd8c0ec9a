package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/app/samples"
	"cairn/internal/domain/fault"
)

// program is one invocation.
type program struct {
	args      []string
	out, errs io.Writer
	output    string // table, json or text
}

// root holds the benchmarks. Each starts the servers that it needs.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "cairn-bench", Short: "Measure Cairn, and see what its promises come to while servers and workers fail",
		Long: "What one needs of Postgres and Temporal it starts itself, whatever DATABASE_URL and TEMPORAL_ADDRESS " +
			"name, and removes again. None needs\n" +
			"a model. One ends with an error when a goal is missed or a promise is broken, and on a signal. Those " +
			"that run a worker as a\n" +
			"process of its own (chaos, distill, soak, turns) build it: run them in a clone of Cairn. " +
			"docs/reference/benchmarks.md has the latest results.",
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVarP(&p.output, "output", "o", "table", "how to print results: table, json or text")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if p.output != "table" && p.output != "json" && p.output != "text" {
			return cli.UsageError(fmt.Errorf("-o %s is unknown; use table, json or text", p.output))
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.UsageError(err) })
	root.AddCommand(p.distill(), p.turns(), p.sweep(), p.tau(), p.loop(), p.search(), p.find(),
		p.chaos(), p.soak(), p.isolation(), p.clients())
	return root
}

// benchmark completes cmd: it takes no arguments and carries run out. What ends
// by a signal is cancelled, whatever it stumbled over then.
func (p *program) benchmark(cmd *cobra.Command, run func(ctx context.Context) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ownServers()
		err := run(cmd.Context())
		if err != nil && cmd.Context().Err() != nil {
			return fault.Wrap(err, fault.Cancelled, "ended before it was done",
				"run it again: its servers are gone, and nothing of it is left")
		}
		return told(err)
	}
	return cmd
}

// told keeps all that several joined errors say: of them only one has a code.
func told(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Error() != err.Error() {
		return fault.New(f.Code, err.Error(), f.Hint)
	}
	return err
}

// ownServers makes this process forget the servers that the environment names:
// they are somebody else's, loaded by others, and not to be filled or crashed.
func ownServers() {
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
}

// measured prints a result: with -o json as JSON, else by text.
func (p *program) measured(result any, text func(io.Writer) error) error {
	if p.output == "json" {
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(result)
	}
	return text(p.out)
}

// line is how the command was called, for a record of its figures.
func (p *program) line() string { return "cairn-bench " + strings.Join(p.args, " ") }

// missed is an error unless err is nil: a goal was not reached.
func missed(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Internal, err.Error(),
		"what was measured stands above; a machine that is busy with something else misses goals of time")
}

// held is an error unless everything that was promised held.
func held(all bool) error {
	if all {
		return nil
	}
	return fault.New(fault.Internal, "not everything held",
		"what was counted stands above; where it tells a seed, --seed draws the same again")
}

// publicFile is path, or else a file of the public data sets.
func publicFile(path, name, flag, from string) (string, error) {
	if path != "" {
		return path, nil
	}
	if path = samples.Public(name); path == "" {
		return "", cli.UsageError(fmt.Errorf(
			"there is no %s on this machine: get %s and name it with --%s, or set CAIRN_DATA", name, from, flag))
	}
	return path, nil
}
