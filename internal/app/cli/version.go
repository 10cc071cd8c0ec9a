package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app/buildinfo"
)

func (c *cli) version() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print version and build information",
		Long: "Print the version of this program, the commit it was built from and its time, the Go version and the " +
			"platform. The version is dev unless the build is a release.",
		Example: "  cairn version\n  cairn version --output json", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return c.printVersion(buildinfo.Read()) }}
}

func (c *cli) printVersion(i buildinfo.Info) error {
	switch c.output {
	case "json":
		return c.printJSON(i)
	case "text":
		_, err := fmt.Fprintln(c.out, "cairn", i)
		return err
	}
	commit := i.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case i.Modified:
		commit += " (modified)"
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "cairn\t%s\ncommit\t%s\n", i.Version, commit)
	if i.CommitTime != "" {
		fmt.Fprintf(tw, "commit time\t%s\n", i.CommitTime)
	}
	fmt.Fprintf(tw, "Go\t%s\nplatform\t%s\n", i.Go, i.Platform)
	return tw.Flush()
}
