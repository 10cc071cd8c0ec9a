package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/access"
)

func (c *cli) keys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list, rotate and revoke API keys", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.keysCreate(), c.keysList(), c.keysRotate(), c.keysRevoke())
	return cmd
}

func (c *cli) keysCreate() *cobra.Command {
	var n newKey
	create := &cobra.Command{Use: "create", Short: "Create an API key and print it once",
		Long: "Create an API key for the workspace and print it. The key is shown only once, because only its " +
			"SHA-256 is stored. A key grants access to one workspace. Scopes: read allows reading; write allows " +
			"reading and changing; admin also allows approving changes, changing settings, importing and erasing.\n\n" +
			"With --operator, the key belongs to an operator of the installation and to no workspace. Scopes: codec " +
			"allows decrypting workflow payloads at /codec; metrics allows reading /metrics; support opens the " +
			"console of operators.\n\nWith --gateway, the key belongs to the account of a program with several " +
			"users, such as a " +
			"chat UI. Each request names its user in the header X-Cairn-Person. A user has a workspace, which the " +
			"first request makes.",
		Example: "  cairn keys create --name chat-gateway --scopes read,write --expires 90d\n" +
			"  cairn keys create --name laptop\n" +
			"  cairn keys create --gateway webui --name open-webui\n" +
			"  cairn keys create --operator --name temporal-ui --scopes codec", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n.gateway != "" && (n.operator || cmd.Flags().Changed("scopes")) {
				return usageError{errors.New("--gateway has its own scope: omit --operator and --scopes")}
			}
			if n.operator && !cmd.Flags().Changed("scopes") {
				return usageError{errors.New("missing --scopes: codec, metrics or support")}
			}
			return c.createKey(cmd.Context(), n)
		}}
	create.Flags().StringVar(&n.name, "name", "", "name of the key's user, 1 to 100 characters (required)")
	create.Flags().StringSliceVar(&n.scopes, "scopes", []string{"read", "write"}, "scopes of the key: read, write, "+
		"admin; of an operator: codec, metrics, support")
	create.Flags().BoolVar(&n.operator, "operator", false, "create a key for an operator (default false)")
	create.Flags().StringVar(&n.gateway, "gateway", "", "account of the gateway that uses the key (default none)")
	create.Flags().StringVar(&n.expires, "expires", "", expiresHelp+" (default: never)")
	return create
}

// newKey are the flags of a new key.
type newKey struct {
	name     string
	scopes   []string
	expires  string
	operator bool
	gateway  string
}

const expiresHelp = "when the key expires: a duration such as 90d, or a date such as 2027-01-31 in UTC"

// expiryOf reads the flag --expires; nil means never.
func expiryOf(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	span, err := spanOf(text)
	if err != nil || span <= 0 || span > 100*365*24*time.Hour {
		return nil, usageError{fmt.Errorf("invalid --expires %q: use a duration such as 90d, or a date such as "+
			"2027-01-31", text)}
	}
	at := time.Now().Add(span)
	return &at, nil
}

// spanOf reads a duration, also in days.
func spanOf(text string) (time.Duration, error) {
	days, isDays := strings.CutSuffix(text, "d")
	if !isDays {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 15)
	return time.Duration(n) * 24 * time.Hour, err
}

func (c *cli) keysList() *cobra.Command {
	var operator bool
	list := &cobra.Command{Use: "list", Short: "List the API keys of the workspace",
		Long: "List the API keys of the workspace, or those of operators. The time of the last use is exact to five " +
			"minutes.",
		Example: "  cairn keys list", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listKeys(cmd.Context(), operator) }}
	list.Flags().BoolVar(&operator, "operator", false, "list the keys of operators (default false)")
	return list
}

func (c *cli) keysRotate() *cobra.Command {
	var overlap, expires string
	rotate := &cobra.Command{Use: "rotate KEY", Short: "Replace an API key and print the new one once",
		Long: "Create a key with the name and scopes of another one and print it. The old key expires after the " +
			"overlap; if it expires earlier anyway, that does not change. Without --expires, the new key lives as " +
			"long as the old one was made for.",
		Example: "  cairn keys rotate 1 --overlap 24h", Args: exactly(1, "the key's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.rotateKey(cmd.Context(), args[0], overlap, expires)
		}}
	rotate.Flags().StringVar(&overlap, "overlap", "24h", "how long the old key still works, at most 90d; 0 ends it "+
		"at once")
	rotate.Flags().StringVar(&expires, "expires", "", expiresHelp+
		" (default: as long as the old key was made for)")
	return rotate
}

func (c *cli) rotateKey(ctx context.Context, number, overlap, expires string) error {
	id, err := keyNumber(number)
	if err != nil {
		return err
	}
	span, err := spanOf(overlap)
	if err != nil {
		return usageError{fmt.Errorf("invalid --overlap %q: use a duration such as 24h or 7d, or 0", overlap)}
	}
	end, err := expiryOf(expires)
	if err != nil {
		return err
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	key, made, err := s.Keys.Rotate(ctx, s.workspace.ID, id, span, end)
	if err != nil {
		return err
	}
	return c.showNewKey(key, made, fmt.Sprintf("workspace %q", s.workspace.Name), map[string]any{
		"workspace": s.workspace.Name, "replaces": id})
}

// keyNumber reads a key's number.
func keyNumber(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usageError{fmt.Errorf("invalid key number %q: `cairn keys list` shows them", text)}
	}
	return id, nil
}

func (c *cli) keysRevoke() *cobra.Command {
	var operator bool
	revoke := &cobra.Command{Use: "revoke KEY", Short: "Revoke an API key",
		Long: "Revoke an API key. Gateways reject it within seconds.", Example: "  cairn keys revoke 2",
		Args: exactly(1, "the key's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.revokeKey(cmd.Context(), args[0], operator)
		}}
	revoke.Flags().BoolVar(&operator, "operator", false, "revoke a key of an operator (default false)")
	return revoke
}

func (c *cli) createKey(ctx context.Context, n newKey) error {
	if strings.TrimSpace(n.name) == "" {
		return usageError{fmt.Errorf("missing --name: the name of the key's user")}
	}
	expires, err := expiryOf(n.expires)
	if err != nil {
		return err
	}
	s, err := c.open(ctx, needs{make: true, noWorkspace: n.operator || n.gateway != ""})
	if err != nil {
		return err
	}
	defer s.close()
	var wanted []access.Scope
	for _, scope := range n.scopes {
		wanted = append(wanted, access.Scope(scope))
	}
	if n.gateway != "" {
		key, made, err := s.Keys.CreateGateway(ctx, n.name, n.gateway, expires)
		if err != nil {
			return err
		}
		return c.showNewKey(key, made, "the gateway "+n.gateway, map[string]any{"account": n.gateway})
	}
	if n.operator {
		key, made, err := s.Keys.CreateOperator(ctx, n.name, wanted, expires)
		if err != nil {
			return err
		}
		return c.showNewKey(key, made, "operators", map[string]any{"operator": true})
	}
	key, made, err := s.Keys.CreateUntil(ctx, s.workspace.ID, n.name, wanted, expires)
	if err != nil {
		return err
	}
	return c.showNewKey(key, made, fmt.Sprintf("workspace %q", s.workspace.Name),
		map[string]any{"workspace": s.workspace.Name})
}

// showNewKey prints a new key and what it is for. More are further fields of the JSON output.
func (c *cli) showNewKey(key string, made access.Key, purpose string, more map[string]any) error {
	switch c.output {
	case "json":
		out := map[string]any{"key": key, "id": made.ID, "name": made.Name, "scopes": made.Scopes}
		if made.ExpiresAt != nil {
			out["expires_at"] = made.ExpiresAt
		}
		maps.Copy(out, more)
		return c.printJSON(out)
	case "text":
		fmt.Fprintln(c.out, key)
		return nil
	}
	fmt.Fprintf(c.out, "%s\n", key)
	expires := ""
	if made.ExpiresAt != nil {
		expires = ", until " + localTime(made.ExpiresAt)
	}
	fmt.Fprintf(c.errs, "key %d, %q, for %s, with scopes %s%s; shown this once\n", made.ID, made.Name, purpose,
		strings.Join(made.Scopes, ", "), expires)
	return nil
}

// localTime formats an optional time.
func localTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

func (c *cli) listKeys(ctx context.Context, operator bool) error {
	s, err := c.open(ctx, needs{noWorkspace: operator})
	if err != nil {
		return err
	}
	defer s.close()
	var all []access.Key
	if operator {
		all, err = s.Keys.ListOperators(ctx)
	} else {
		all, err = s.Keys.List(ctx, s.workspace.ID)
	}
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"keys": all})
	}
	if len(all) == 0 && operator {
		fmt.Fprintln(
			c.out,
			"no operator keys; create one with `cairn keys create --operator --name NAME --scopes codec`",
		)
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(c.out, "no API keys in workspace %q; create one with `cairn keys create --name "+
			"NAME`\n", s.workspace.Name)
		return nil
	}
	return c.tableOfKeys(all)
}

func (c *cli) tableOfKeys(all []access.Key) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KEY\tNAME\tPREFIX\tSCOPES\tCREATED\tEXPIRES\tLAST USED\tREVOKED")
	for _, k := range all {
		fmt.Fprintf(tw, "%d\t%s\t%s…\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Hint, strings.Join(k.Scopes, ","),
			localTime(&k.CreatedAt), localTime(k.ExpiresAt), localTime(k.UsedAt), localTime(k.RevokedAt))
	}
	return tw.Flush()
}

func (c *cli) revokeKey(ctx context.Context, number string, operator bool) error {
	id, err := keyNumber(number)
	if err != nil {
		return err
	}
	s, err := c.open(ctx, needs{noWorkspace: operator})
	if err != nil {
		return err
	}
	defer s.close()
	if operator {
		err = s.Keys.RevokeOperator(ctx, id)
	} else {
		err = s.Keys.Revoke(ctx, s.workspace.ID, id)
	}
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"revoked": id})
	}
	fmt.Fprintf(c.out, "key %d revoked\n", id)
	return nil
}
