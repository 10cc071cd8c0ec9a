package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app/config"
)

func (c *cli) dev() *cobra.Command {
	return &cobra.Command{
		Use: "dev", Short: "Run the development stack until Ctrl-C",
		Example: "  cairn dev", Args: noArguments,
		Long: "Run the development stack until Ctrl-C: Postgres with pgvector, Temporal with its UI, a worker, and " +
			"the HTTP API with the web console. " +
			"The data is kept in the folder of --home for the next start. Other cairn commands with the same folder " +
			"use this stack. With CAIRN_CHANNELS, it also connects those accounts of chat platforms.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runDev(cmd.Context()) },
	}
}

func (c *cli) runDev(ctx context.Context) error {
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.attached {
		fmt.Fprintf(c.out, "a development stack already runs in %s; Temporal UI: %s\n", s.Config.Home,
			s.Config.TemporalUI)
		if s.Config.ConsoleOn() && s.consoleServed(ctx) == nil {
			fmt.Fprintf(c.out, "console: %s\n", s.consoleURL())
		}
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if s.stack != nil {
		for _, f := range s.stack.Describe() {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", f.Part, f.Version, f.Where)
		}
	} else { // all servers are configured, so only a worker is missing
		s.startWork(ctx)
		fmt.Fprintf(tw, "Temporal\t\t%s\n", s.Config.TemporalAddress)
		fmt.Fprintf(tw, "Temporal UI\t\t%s\n", s.Config.TemporalUI)
		fmt.Fprintf(tw, "database\t\t%s\n", config.Redacted(s.Config.DatabaseURL))
	}
	fmt.Fprintf(tw, "model\t\t%s\n", s.models())
	if err := tw.Flush(); err != nil {
		return err
	}
	ctx, stopped, err := s.startAccounts(ctx)
	if err != nil {
		return err
	}
	defer stopped()
	l, err := s.listenLocally()
	if err != nil {
		return err
	}
	c.announceConsole(s, l)
	fmt.Fprintln(c.out,
		"\nready: try `cairn distill FILE` in another terminal; Ctrl-C stops the stack and keeps the data")
	s.Config.DrainDelay = 0 // no load balancer
	err = s.serveGateway(ctx, l)
	fmt.Fprintln(c.out, "stopping")
	return err
}
