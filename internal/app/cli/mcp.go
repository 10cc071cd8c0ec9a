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
		Use: "mcp", Short: "Offer the workspace's tools over MCP on standard input and output",
		Example: "  cairn mcp --workspace default\n  cairn mcp --profile all", Args: cobra.NoArgs,
		Long: "Offer the workspace's tools over the Model Context Protocol on standard input and output, for agents " +
			"that start\nprograms. `cairn serve` offers them at /mcp, behind a key. The workspace is -w's; no tool " +
			"takes one.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runMCP(cmd.Context(), profile) },
	}
	cmd.Flags().StringVar(&profile, "profile", mcpserver.Default, "which tools: default, retrieval (looking things "+
		"up), memory (long-term memories, to change them, too), skills (step by step) or all")
	return cmd
}

func (c *cli) runMCP(ctx context.Context, profile string) error {
	return c.looking(ctx, needs{make: true}, func(s *session) error {
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
		if ctx.Err() != nil || errors.Is(err, io.EOF) { // told to stop, or the client has left
			return nil
		}
		return err
	})
}

// unclosed leaves standard output open, for what may be said at the end.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
