package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// budget are the processes whose connections to the database are counted.
type budget struct {
	workers, gateways, others int
}

// flags adds the flags of the command doctor.
func (b *budget) flags(cmd *cobra.Command, wanted *bool) {
	cmd.Flags().BoolVar(wanted, "connections", false, "compare the database connections of a deployment with the "+
		"limit of the server (default false)")
	cmd.Flags().IntVar(&b.workers, "workers", 1, "number of workers, with --connections")
	cmd.Flags().IntVar(&b.gateways, "gateways", 1, "number of gateways, with --connections")
	cmd.Flags().IntVar(&b.others, "others", 0, "connections of other programs, such as Temporal, with "+
		"--connections (default none)")
}

// checkConnections prints the budget, and fails if the server allows fewer connections.
func (c *cli) checkConnections(ctx context.Context, b budget) error {
	if b.workers < 0 || b.gateways < 0 || b.others < 0 {
		return usageError{fmt.Errorf("--workers, --gateways and --others must not be negative")}
	}
	return c.withSession(ctx, needs{noWorkspace: true}, func(s *session) error {
		server, err := s.Store.Connections(ctx)
		if err != nil {
			return err
		}
		each := store.PerProcess(s.Config.DatabaseConns, s.Config.DatabasePooler != "")
		needed := (b.workers+b.gateways)*each + b.others
		available := server.Most - server.Reserved
		if c.output == "json" {
			err = c.printJSON(map[string]any{"per_process": each, "workers": b.workers, "gateways": b.gateways,
				"others": b.others, "needed": needed, "available": available, "server": server})
		} else {
			tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(tw, "workers\t%d x %d\t%d\n", b.workers, each, b.workers*each)
			fmt.Fprintf(tw, "gateways\t%d x %d\t%d\n", b.gateways, each, b.gateways*each)
			fmt.Fprintf(tw, "other programs\t\t%d\n", b.others)
			fmt.Fprintf(tw, "needed\t\t%d\n", needed)
			fmt.Fprintf(tw, "available\t%d - %d for superusers\t%d\n", server.Most, server.Reserved, available)
			fmt.Fprintf(tw, "in use now\t\t%d\n", server.Used)
			err = tw.Flush()
		}
		if err != nil || needed <= available {
			return err
		}
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the processes need %d database connections, but the server allows %d", needed, available),
			fmt.Sprintf("set max_connections of the server to at least %d, lower CAIRN_DATABASE_CONNS, or use a "+
				"pooler; see docs/operations/poolers.md", needed+server.Reserved))
	})
}
