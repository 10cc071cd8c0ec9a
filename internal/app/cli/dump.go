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
	"cairn/internal/service/memory"
)

func (c *cli) dumpMemories() *cobra.Command {
	var o dump.Options
	cmd := &cobra.Command{Use: "dump FILE",
		Short: "Export all memories of the workspace as JSON lines",
		Long: "Export all memories of the workspace to a file (- for standard output) as JSON lines: targets, " +
			"sessions with their messages, memories of all types with their history, the identity and the soul. " +
			"`cairn memories load FILE` imports the file.",
		Example: "  cairn memories dump memories.ndjson\n  cairn memories dump -",
		Args:    exactly(1, "the file to write"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runDump(cmd.Context(), args[0], o) }}
	cmd.Flags().BoolVar(&o.Vectors, "vectors", false,
		"include vectors, for a deployment with the same embedding model")
	return cmd
}

func (c *cli) runDump(ctx context.Context, file string, o dump.Options) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		if file == "-" {
			return s.Dumps.Dump(ctx, s.workspace.ID, c.out, o)
		}
		to, err := os.Create(file)
		if err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "create the file "+file,
				"pass the path of a file in an existing folder")
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
		Short: "Import memories from a dump",
		Long: "Import memories from a file that `cairn memories dump FILE` or ReMe has written, or that has one " +
			"memory per line in the form of POST /v1/memories (- for standard input). The whole file is checked " +
			"first: if one line is invalid, nothing is imported. Then memories are imported in transactions of " +
			"500. Existing memories are not changed, so you can repeat an interrupted import.",
		Example: "  cairn memories load memories.ndjson --workspace copy\n  cat memories.ndjson | cairn memories " +
			"load -",
		Args: exactly(1, "the file to load"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runLoad(cmd.Context(), args[0]) }}
}

func (c *cli) runLoad(ctx context.Context, file string) error {
	from, err := c.input(file, "the dump", "pass the path of a file that `cairn memories dump FILE` has written")
	if err != nil {
		return err
	}
	defer from.Close()
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		loaded, err := s.Dumps.Load(ctx, s.actor(), from)
		if err != nil {
			return err
		}
		return c.printLoaded(loaded)
	})
}

func (c *cli) copyMemories() *cobra.Command {
	var from string
	cmd := &cobra.Command{Use: "copy", Short: "Copy the memories of another workspace",
		Example: "  cairn memories copy --from test --workspace copy", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usageError{fmt.Errorf("missing --from: the workspace to copy")}
			}
			return c.withSession(cmd.Context(), needs{make: true}, func(s *session) error {
				source, err := s.Store.Workspace(cmd.Context(), from, false)
				if err != nil {
					return err
				}
				loaded, err := s.Dumps.Copy(cmd.Context(), dump.CopySource{Workspace: source.ID}, s.actor())
				if err != nil {
					return err
				}
				return c.printLoaded(loaded)
			})
		}}
	cmd.Flags().StringVar(&from, "from", "", "workspace to copy (required)")
	return cmd
}

func (c *cli) printLoaded(l dump.LoadResult) error {
	if c.output == "json" {
		return c.printJSON(l)
	}
	fmt.Fprintf(c.out, "imported %d memories, %d targets, %d sessions and %d messages; %d already existed\n",
		l.Memories, l.Targets, l.Histories, l.Messages, l.Existing)
	if l.Ignored > 0 {
		fmt.Fprintf(c.errs, "%d lines without a memory were ignored\n", l.Ignored)
	}
	if l.Signature != dump.Verified {
		fmt.Fprintf(c.errs, "the signature of the file is %s: everything has the origin import, and texts with "+
			"findings are quarantined\n", map[string]string{dump.Unsigned: "missing",
			dump.Invalid: "not valid in this deployment"}[l.Signature])
	}
	if l.Quarantined > 0 {
		fmt.Fprintf(c.errs, "%d memories quarantined: they contain a secret or a possible attack, and no model "+
			"sees them\n", l.Quarantined)
	}
	return nil
}

func (c *cli) targets() *cobra.Command {
	return &cobra.Command{Use: "targets", Short: "List memory targets",
		Example: "  cairn targets --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTargets(cmd.Context()) }}
}

func (c *cli) runTargets(ctx context.Context) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		meta, err := s.LongTerm.ReadMeta(ctx, s.actor(), memory.MetaArgs{})
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
		fmt.Fprintln(tw, "TYPE\tTARGET\tLAST USED\tDESCRIPTION")
		for _, t := range meta.Targets {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", t.Type, t.Display, t.LastUsedAt.Local().Format(time.DateTime),
				short(t.Description))
		}
		return tw.Flush()
	})
}
