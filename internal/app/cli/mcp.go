package cli

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"cairn/internal/gateway/mcpserver"
)

func (c *cli) mcp() *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the workspace's tools over MCP on standard I/O",
		Example: "  cairn mcp --workspace default\n  cairn mcp --profile all", Args: noArguments,
		Long: "Serve the workspace's tools over the Model Context Protocol on standard input and output, for " +
			"agents that start their MCP servers as programs. `cairn serve` serves the same tools at /mcp, " +
			"protected by an API key. --workspace selects the workspace; tools have no workspace argument.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runMCP(cmd.Context(), profile) },
	}
	cmd.Flags().StringVar(&profile, "profile", mcpserver.Default, "tools to serve: default, retrieval (read "+
		"memory), memory (read and write long-term memory), skills (read skills) or all")
	return cmd
}

func (c *cli) runMCP(ctx context.Context, profile string) error {
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		server, err := mcpserver.New(mcpserver.Options{Name: s.Config.MCPName, Registry: s.Offered, Profile: profile,
			Workspace: s.workspace.ID, MayWrite: true, Log: s.Log})
		if err != nil {
			return err
		}
		in, ok := c.in.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(c.in)
		}
		err = server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: unclosed{c.out}})
		if ctx.Err() != nil || errors.Is(err, io.EOF) { // interrupted, or the client disconnected
			return nil //nolint:nilerr // the client has disconnected
		}
		return err
	})
}

// unclosed keeps standard output open for messages after the server has stopped.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
