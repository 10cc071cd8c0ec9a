// Package cli holds the commands of cairn.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cairn/internal/app"
)

// Execute runs the command line of this process and ends the process.
func Execute() {
	app.EnterSandbox()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args, environ []string, in io.Reader, out, errs io.Writer) int {
	c := &cli{args: args, in: in, out: out, errs: errs, environ: environ}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(ctx); err != nil {
		return PrintError(errs, root.Name(), c.output, err)
	}
	return 0
}

// cli is one invocation.
type cli struct {
	args      []string
	in        io.Reader
	out, errs io.Writer
	environ   []string
	output    string // table, json or text
	workspace string
	home      string
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn",
		Short: "A durable memory and skill engine for AI agents",
		Long: "Cairn answers conversations, remembers what they say of their user, and distils them into " +
			"versioned skills. Every step is a retryable Temporal activity,\nevery effect happens once, and " +
			"everything is stored in one Postgres.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVarP(&c.output, "output", "o", "table", "how to print results: table, json or text")
	flags.StringVarP(&c.workspace, "workspace", "w", "",
		"workspace to work in (default $CAIRN_WORKSPACE, else \"default\")")
	flags.StringVar(&c.home, "home", "", "folder of the development stack's data and of packages (default "+
		"$CAIRN_HOME, else .cairn)")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if c.output != "table" && c.output != "json" && c.output != "text" {
			return usageError{fmt.Errorf("-o %s is unknown; use table, json or text", c.output)}
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(c.demo(), c.dev(), c.turn(), c.chat(), c.conversations(), c.memories(), c.targets(), c.soul(),
		c.settings(), c.mcp(), c.distill(), c.skills(), c.search(), c.summarize(), c.retrieve(), c.working(), c.runs(),
		c.reflect(), c.serve(), c.keys(),
		c.replay(), c.migrate(), c.doctor(), c.config(), c.erase(), c.schedule(), c.curate(), c.insights(),
		c.evalCommand(), c.bank(), c.feedback(), c.train(), c.evolve())
	return root
}

// exactly is cobra.ExactArgs with our kind of error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("give exactly %d argument: %s", n, what)}
		}
		return nil
	}
}
