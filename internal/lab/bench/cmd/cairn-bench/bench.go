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

// program is one invocation of the command.
type program struct {
	args      []string
	out, errs io.Writer
	output    string // table, json or text
}

// root returns the root command. Each benchmark starts the servers that it needs.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn-bench",
		Short: "Run the benchmarks and fault experiments of Cairn",
		Long: "Each benchmark starts its own Postgres and Temporal and removes them afterwards. It ignores " +
			"DATABASE_URL and\nTEMPORAL_ADDRESS. No benchmark needs a model; retrieval can use an embedding model. " +
			"A benchmark exits with an error if it misses a goal, if a count that\nmust be 0 is not 0, " +
			"or on a signal. add, chaos, distill, production, soak and turns build the worker: " +
			"run them in a clone of Cairn.\n" +
			"docs/reference/benchmarks.md and benchmarks-retrieval.md have the latest results.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVarP(&p.output, "output", "o", "table", "format of results: table, json or text")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if p.output != "table" && p.output != "json" && p.output != "text" {
			return cli.UsageError(fmt.Errorf("invalid -o %q: use table, json or text", p.output))
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.UsageError(err) })
	root.AddCommand(
		p.distill(),
		p.tokens(),
		p.turns(),
		p.add(),
		p.retention(),
		p.stream(),
		p.sweep(),
		p.tau(),
		p.loop(),
		p.search(),
		p.retrieval(),
		p.profiles(),
		p.find(),
		p.load(), p.console(),
		p.httpSearch(),
		p.chaos(),
		p.soak(),
		p.streamChaos(),
		p.channelChaos(),
		p.isolation(),
		p.production(),
		p.clients(),
		p.peers(),
		p.openAI(),
		p.channelSDKs(),
	)
	return root
}

// benchmark completes cmd, which takes no arguments and calls run. If a signal ends run, the
// error is Cancelled, whatever run returns.
func (p *program) benchmark(cmd *cobra.Command, run func(ctx context.Context) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ownServers()
		err := run(cmd.Context())
		if err != nil && cmd.Context().Err() != nil {
			return fault.Wrap(err, fault.Cancelled, "interrupted",
				"run it again; its servers and data are removed")
		}
		return joined(err)
	}
	return cmd
}

// joined keeps the texts of all joined errors, because the command prints only one with a code.
func joined(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Error() != err.Error() {
		return fault.New(f.Code, err.Error(), f.Hint)
	}
	return err
}

// ownServers removes the servers of the environment from this process, because they belong
// to others and must not be loaded or crashed.
func ownServers() {
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
}

// measured prints a result: as JSON with -o json, otherwise with text.
func (p *program) measured(result any, text func(io.Writer) error) error {
	if p.output == "json" {
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(result)
	}
	return text(p.out)
}

// line returns the command line, for a record of the results.
func (p *program) line() string { return "cairn-bench " + strings.Join(p.args, " ") }

// missed returns an error with a hint if err is not nil: a goal was missed.
func missed(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Internal, err.Error(),
		"see the results above; on a busy machine, time goals can be missed: run it again on an idle one")
}

// held returns an error unless all is true.
func held(all bool) error {
	if all {
		return nil
	}
	return fault.New(fault.Internal, "a count that must be 0 is not 0",
		"see the counts above; if they include a seed, repeat the run with --seed")
}

// publicFile returns path, or else the path of a file of the public data sets.
func publicFile(path, name, flag, from string) (string, error) {
	if path != "" {
		return path, nil
	}
	if path = samples.Public(name); path == "" {
		return "", cli.UsageError(fmt.Errorf(
			"file %s not found: download %s and pass it with --%s, or set CAIRN_DATA", name, from, flag))
	}
	return path, nil
}
