package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
)

// account is the user of the operating system, as audit events name it.
func account() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return cmp.Or(u.Username, u.Uid)
}

func (c *cli) audit() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Export audit events", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.auditExport())
	return cmd
}

// auditFlags are the flags of the command audit export.
type auditFlags struct {
	action, since, until string
	operator             bool
}

func (c *cli) auditExport() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{Use: "export [FILE]", Short: "Write audit events as JSON lines",
		Long: "Write the audit events of the workspace to a file (- for standard output, the default) as JSON " +
			"lines, the latest first. Events show who created keys, changed settings, approved, restored, imported, " +
			"exported or erased data.\n\nWith --operator, write the events that belong to no workspace: operator " +
			"keys, decoded payloads, migrations and erased workspaces.",
		Example: "  cairn audit export\n  cairn audit export events.ndjson --since 2027-01-01 --action key.create\n" +
			"  cairn audit export --operator",
		Args: atMost(1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "-"
			if len(args) == 1 {
				file = args[0]
			}
			return c.exportAudit(cmd.Context(), file, f)
		}}
	cmd.Flags().StringVar(&f.action, "action", "", "only this action, such as key.create (default all)")
	cmd.Flags().StringVar(&f.since, "since", "", "earliest time, included: a date in UTC, or a time such as "+
		"2027-01-31T09:00:00Z (default no limit)")
	cmd.Flags().StringVar(&f.until, "until", "", "latest time, not included (default no limit)")
	cmd.Flags().BoolVar(&f.operator, "operator", false, "events that belong to no workspace (default false)")
	return cmd
}

func (c *cli) exportAudit(ctx context.Context, file string, f auditFlags) error {
	filter, err := audit.NewFilter(f.action, f.since, f.until)
	if err != nil {
		return err
	}
	return c.withSession(ctx, needs{noWorkspace: f.operator}, func(s *session) error {
		ws := s.workspace.ID // 0 without a workspace: operators
		if file == "-" {
			return writeEvents(ctx, s, ws, filter, c.out)
		}
		to, err := os.Create(file)
		if err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "create the file "+file,
				"pass the path of a file in an existing folder")
		}
		return errors.Join(writeEvents(ctx, s, ws, filter, to), to.Close())
	})
}

func writeEvents(ctx context.Context, s *session, ws int64, f audit.Filter, to io.Writer) error {
	buffered := bufio.NewWriter(to)
	lines := json.NewEncoder(buffered)
	err := s.Audit.Export(ctx, ws, f, func(e audit.Event) error { return lines.Encode(e) })
	return errors.Join(err, buffered.Flush())
}
