package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/service/apikey"
)

func (c *cli) keys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list and revoke API keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var name string
	var scopes []string
	create := &cobra.Command{Use: "create", Short: "Create an API key and print it once",
		Long: "Create an API key for the workspace and print it. The key is shown only once, because only its " +
			"SHA-256 is stored. A key grants access to one workspace. Scopes: read allows reading; write allows " +
			"reading and changing; admin also allows approving changes, changing settings, importing and erasing.",
		Example: "  cairn keys create --name chat-gateway --scopes read,write", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.createKey(cmd.Context(), name, scopes) }}
	create.Flags().StringVar(&name, "name", "", "name of the key's user, 1 to 100 characters (required)")
	create.Flags().StringSliceVar(&scopes, "scopes", []string{"read", "write"}, "scopes of the key: read, write, "+
		"admin")
	list := &cobra.Command{Use: "list", Short: "List the API keys of the workspace",
		Example: "  cairn keys list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listKeys(cmd.Context()) }}
	revoke := &cobra.Command{Use: "revoke KEY", Short: "Revoke an API key",
		Long: "Revoke an API key. Gateways reject it within seconds.", Example: "  cairn keys revoke " +
			"1", Args: exactly(1, "the key's number"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.revokeKey(cmd.Context(), args[0]) }}
	cmd.AddCommand(create, list, revoke)
	return cmd
}

func (c *cli) createKey(ctx context.Context, name string, scopes []string) error {
	if strings.TrimSpace(name) == "" {
		return usageError{fmt.Errorf("missing --name: the name of the key's user")}
	}
	s, err := c.open(ctx, needs{make: true})
	if err != nil {
		return err
	}
	defer s.close()
	var wanted []apikey.Scope
	for _, scope := range scopes {
		wanted = append(wanted, apikey.Scope(scope))
	}
	key, made, err := s.Keys.Create(ctx, s.workspace.ID, name, wanted)
	if err != nil {
		return err
	}
	switch c.output {
	case "json":
		return c.printJSON(map[string]any{"key": key, "id": made.ID, "name": made.Name, "scopes": made.Scopes,
			"workspace": s.workspace.Name})
	case "text":
		fmt.Fprintln(c.out, key)
		return nil
	}
	fmt.Fprintf(c.out, "%s\n", key)
	fmt.Fprintf(c.errs, "key %d, %q, for workspace %q, with scopes %s; shown this once\n", made.ID, made.Name,
		s.workspace.Name, strings.Join(made.Scopes, ", "))
	return nil
}

func (c *cli) listKeys(ctx context.Context) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	all, err := s.Keys.List(ctx, s.workspace.ID)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"keys": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(c.out, "no API keys in workspace %q; create one with `cairn keys create --name "+
			"NAME`\n", s.workspace.Name)
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KEY\tNAME\tPREFIX\tSCOPES\tCREATED\tREVOKED")
	for _, k := range all {
		revoked := ""
		if k.RevokedAt != nil {
			revoked = k.RevokedAt.Local().Format(time.DateTime)
		}
		fmt.Fprintf(tw, "%d\t%s\t%s…\t%s\t%s\t%s\n", k.ID, k.Name, k.Hint, strings.Join(k.Scopes, ","),
			k.CreatedAt.Local().Format(time.DateTime), revoked)
	}
	return tw.Flush()
}

func (c *cli) revokeKey(ctx context.Context, number string) error {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return usageError{fmt.Errorf("invalid key number %q: `cairn keys list` shows them", number)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.Keys.Revoke(ctx, s.workspace.ID, id); err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"revoked": id})
	}
	fmt.Fprintf(c.out, "key %d revoked\n", id)
	return nil
}
