package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/service/dump"
	"cairn/internal/service/longterm"
)

func (c *cli) dumpMemories() *cobra.Command {
	var o dump.Options
	cmd := &cobra.Command{Use: "dump FILE",
		Short: "Write all that the workspace remembers to a file, as lines of JSON (- for standard output)",
		Long: "Write all that the workspace remembers to a file, as lines of JSON: targets, sessions with what " +
			"was said, memories\nof every type with their history, the identity and the soul. `cairn memories load` " +
			"reads it.",
		Example: "  cairn memories dump memories.ndjson\n  cairn memories dump -",
		Args:    exactly(1, "the file to write"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runDump(cmd.Context(), args[0], o) }}
	cmd.Flags().BoolVar(&o.Vectors, "vectors", false,
		"with the vectors of memories, for a deployment with the same embedding model")
	return cmd
}

func (c *cli) runDump(ctx context.Context, file string, o dump.Options) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		if file == "-" {
			return s.Dumps.Dump(ctx, s.workspace.ID, c.out, o)
		}
		to, err := os.Create(file)
		if err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "the dump cannot be written to "+file,
				"give the path of a file in a folder that exists")
		}
		buffered := bufio.NewWriter(to)
		err = s.Dumps.Dump(ctx, s.workspace.ID, buffered, o)
		if err == nil {
			err = buffered.Flush()
		}
		if closed := to.Close(); err == nil {
			err = closed
		}
		return err
	})
}

func (c *cli) loadMemories() *cobra.Command {
	return &cobra.Command{Use: "load FILE",
		Short: "Load what a dump has written: all of it or nothing (- for standard input)",
		Long: "Load what `cairn memories dump`, or ReMe, has written: all of it or nothing. What is there " +
			"already stays as it is, so\na load that was broken off is done again.",
		Example: "  cairn memories load memories.ndjson -w copy\n  cat memories.ndjson | cairn memories load -",
		Args:    exactly(1, "the file to load"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runLoad(cmd.Context(), args[0]) }}
}

func (c *cli) runLoad(ctx context.Context, file string) error {
	from := c.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "the dump cannot be read",
				"give the path of a file that `cairn memories dump` has written")
		}
		defer opened.Close()
		from = opened
	}
	return c.looking(ctx, needs{make: true}, func(s *session) error {
		loaded, err := s.Dumps.Load(ctx, s.person(), from)
		if err != nil {
			return err
		}
		return c.printLoaded(loaded)
	})
}

func (c *cli) copyMemories() *cobra.Command {
	var from string
	cmd := &cobra.Command{Use: "copy", Short: "Load what another workspace remembers",
		Example: "  cairn memories copy --from test -w copy", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usageError{fmt.Errorf("--from names the workspace that is copied")}
			}
			return c.looking(cmd.Context(), needs{make: true}, func(s *session) error {
				source, err := s.Store.Workspace(cmd.Context(), from, false)
				if err != nil {
					return err
				}
				loaded, err := s.Dumps.Copy(cmd.Context(), source.ID, s.person())
				if err != nil {
					return err
				}
				return c.printLoaded(loaded)
			})
		}}
	cmd.Flags().StringVar(&from, "from", "", "the workspace that is copied")
	return cmd
}

func (c *cli) printLoaded(l dump.LoadResult) error {
	if c.output == "json" {
		return c.printJSON(l)
	}
	fmt.Fprintf(c.out, "loaded %d memories, %d targets, %d sessions and %d messages; %d were there already\n",
		l.Memories, l.Targets, l.Histories, l.Messages, l.Skipped)
	if l.Quarantined > 0 {
		fmt.Fprintf(c.errs, "%d memories hold a secret or read like an attack: they are quarantined, and shown to "+
			"no model\n", l.Quarantined)
	}
	return nil
}

func (c *cli) targets() *cobra.Command {
	return &cobra.Command{Use: "targets", Short: "List whom and what there are long-term memories about",
		Example: "  cairn targets -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTargets(cmd.Context()) }}
}

func (c *cli) runTargets(ctx context.Context) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		meta, err := s.LongTerm.ReadMeta(ctx, s.person(), longterm.MetaArgs{})
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"targets": meta.Targets, "total": meta.Total})
		}
		if c.output == "text" || len(meta.Targets) == 0 {
			fmt.Fprintln(c.out, meta.Text)
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "TYPE\tTARGET\tLAST USED\tABOUT")
		for _, t := range meta.Targets {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", t.Type, t.Display, t.LastUsedAt.Local().Format(time.DateTime),
				short(t.Description))
		}
		return tw.Flush()
	})
}
