package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/service/channel"
)

func (c *cli) gateway() *cobra.Command {
	var listen string
	cmd := &cobra.Command{Use: "gateway", Short: "Connect chat platforms until Ctrl-C", Args: noArguments,
		Example: "  cairn gateway\n  cairn gateway --listen 0.0.0.0:8090",
		Long: "Receive the messages of the accounts in CAIRN_CHANNELS and send the replies, until Ctrl-C. Only this " +
			"process needs the credentials of the accounts. Several processes may serve the same accounts: one of " +
			"them receives, and another takes over within 15 seconds. Webhooks are served at " +
			"/channels/ACCOUNT/events.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runGateway(cmd.Context(), listen) }}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "host:port for webhooks; port 0 selects a free one")
	return cmd
}

func (c *cli) runGateway(ctx context.Context, listen string) error {
	s, err := c.open(ctx, needs{temporal: true, noWorkspace: true})
	if err != nil {
		return err
	}
	defer s.close()
	accounts, err := s.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "listen on "+listen,
			"choose another address with --listen, such as --listen 127.0.0.1:0 for a free port")
	}
	const readTimeout = 20 * time.Second
	server := &http.Server{Handler: s.WebhookHandler(accounts), ReadTimeout: readTimeout, IdleTimeout: time.Minute}
	defer server.Close()
	go func() { _ = server.Serve(l) }() // returns when the server is closed
	var names []string
	for _, a := range accounts {
		names = append(names, a.Name)
	}
	fmt.Fprintf(c.out, "ready: serves %s; webhooks at http://%s/channels/ACCOUNT/events\n", strings.Join(names, ", "),
		l.Addr())
	return s.ServeAccounts(ctx, accounts)
}

func (c *cli) channels() *cobra.Command {
	cmd := &cobra.Command{Use: "channels", Short: "Check the accounts of chat platforms", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(&cobra.Command{Use: "check", Short: "Check the credentials and rights of all accounts",
		Long:    "Ask each platform in CAIRN_CHANNELS whether it accepts the credentials. Names what is missing.",
		Example: "  cairn channels check", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.checkChannels(cmd.Context()) }})
	return cmd
}

func (c *cli) checkChannels(ctx context.Context) error {
	s, err := c.open(ctx, needs{noWorkspace: true})
	if err != nil {
		return err
	}
	defer s.close()
	accounts, err := s.ReadAccounts()
	if err != nil {
		return err
	}
	var failed error
	for _, a := range accounts {
		if err := a.Adapter.Check(ctx); err != nil {
			f := fault.From(err)
			fmt.Fprintf(c.out, "%s (%s): %s\n  hint: %s\n", a.Name, a.Platform, f.Message, f.Hint)
			failed = fault.New(fault.Misconfigured, "an account cannot be used", "see the lines above")
			continue
		}
		fmt.Fprintf(c.out, "%s (%s): ok, access %s\n", a.Name, a.Platform, a.Access)
	}
	return failed
}

func (c *cli) people() *cobra.Command {
	cmd := &cobra.Command{Use: "people", Short: "Manage who may write over chat platforms", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List users and open pairing codes", Args: noArguments,
		Example: "  cairn people list",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.listPeople(cmd.Context()) }},
		&cobra.Command{Use: "approve CODE", Short: "Let the user with a pairing code write",
			Long: "Let the user with a pairing code write. Their messages are read in the workspace of -w, else in a " +
				"new one. If an account has no user yet, the approved one is its administrator.",
			Example: "  cairn people approve K7M2WQ4T\n  cairn people approve K7M2WQ4T --workspace ada",
			Args:    exactly(1, "the code that the user got"),
			RunE:    func(cmd *cobra.Command, args []string) error { return c.approve(cmd.Context(), args[0]) }},
		c.peopleRole())
	return cmd
}

func (c *cli) peopleRole() *cobra.Command {
	var group bool
	cmd := &cobra.Command{
		Use:   "role ACCOUNT USER ROLE",
		Short: "Make a user an admin, a user or blocked",
		Long: "Make a user an admin, a user or blocked. With --group, USER is the chat of a group that is " +
			"served or blocked. Write -- before an ID that begins with a minus.",
		Example: "  cairn people role ada 12345 blocked\n  cairn people role --group -- ada -100123 blocked",
		Args:    exactly(3, "the account, the user and the role"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := channel.KindUser
			if group {
				kind = channel.KindGroup
			}
			return c.setRole(cmd.Context(), args[0], kind, args[1], args[2])
		},
	}
	cmd.Flags().BoolVar(&group, "group", false, "USER is the chat of a group")
	return cmd
}

func (c *cli) listPeople(ctx context.Context) error {
	s, err := c.open(ctx, needs{noWorkspace: true})
	if err != nil {
		return err
	}
	defer s.close()
	people, err := s.Store.Channels().Identities(ctx)
	if err != nil {
		return err
	}
	open, err := s.Store.Channels().Pairings(ctx)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"people": orEmpty(people), "pairings": orEmpty(open)})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ACCOUNT\tKIND\tID\tNAME\tROLE\tWORKSPACE")
	for _, p := range people {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Account, p.Kind, p.User, p.Name, p.Role, p.Workspace)
	}
	for _, p := range open {
		fmt.Fprintf(tw, "%s\tuser\t%s\t%s\tcode %s\tuntil %s\n", p.Account, p.User, p.Name, p.Code,
			p.ExpiresAt.Local().Format(time.TimeOnly))
	}
	return tw.Flush()
}

func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (c *cli) approve(ctx context.Context, code string) error {
	s, err := c.open(ctx, needs{noWorkspace: true})
	if err != nil {
		return err
	}
	defer s.close()
	i, err := s.Channels.Approve(ctx, code, c.workspace)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(i)
	}
	_, err = fmt.Fprintf(
		c.out,
		"%s (%s) may write to %s as %s; workspace %q\n",
		cmp.Or(i.Name, i.User),
		i.User,
		i.Account,
		i.Role,
		i.Workspace,
	)
	return err
}

func (c *cli) setRole(ctx context.Context, account, kind, user, role string) error {
	s, err := c.open(ctx, needs{noWorkspace: true})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.Channels.SetRole(ctx, account, kind, user, role); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s %s of %s is %s\n", kind, user, account, role)
	return err
}

func (c *cli) deliveries() *cobra.Command {
	cmd := &cobra.Command{Use: "deliveries", Short: "Show and retry messages to chat platforms", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var state string
	list := &cobra.Command{Use: "list", Short: "List the deliveries of the workspace, the latest first",
		Example: "  cairn deliveries list --state dead", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listDeliveries(cmd.Context(), state) }}
	list.Flags().StringVar(&state, "state", "",
		"only this state: streaming, ready, sent, dead or dropped (default all)")
	cmd.AddCommand(list,
		&cobra.Command{Use: "retry ID", Short: "Send a dead delivery again", Example: "  cairn deliveries retry 7",
			Args: exactly(1, "the delivery's ID"), RunE: func(cmd *cobra.Command, args []string) error {
				return c.reopenDelivery(cmd.Context(), args[0], false)
			}},
		&cobra.Command{Use: "drop ID", Short: "Do not send a delivery", Example: "  cairn deliveries drop 7",
			Args: exactly(1, "the delivery's ID"), RunE: func(cmd *cobra.Command, args []string) error {
				return c.reopenDelivery(cmd.Context(), args[0], true)
			}})
	return cmd
}

func (c *cli) listDeliveries(ctx context.Context, state string) error {
	states := []string{"", channel.DeliveryReady, channel.DeliverySent, channel.DeliveryDead, channel.DeliveryDropped}
	if !slices.Contains(states, state) {
		return usageError{fmt.Errorf("invalid --state %q: use ready, sent, dead or dropped", state)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	const most = 100
	all, err := s.Store.Channels().Deliveries(ctx, s.workspace.ID, state, 0, false, most)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"deliveries": orEmpty(all)})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tCHAT\tSOURCE\tSTATE\tATTEMPTS\tREASON")
	for _, d := range all {
		fmt.Fprintf(
			tw,
			"%d\t%s\t%s\t%s\t%d\t%s\n",
			d.ID,
			d.Place,
			d.Source,
			d.State,
			d.Attempts,
			d.Reason,
		)
	}
	return tw.Flush()
}

func (c *cli) reopenDelivery(ctx context.Context, text string, drop bool) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return usageError{fmt.Errorf("invalid ID of a delivery %q: `cairn deliveries list` shows them", text)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	do, done := s.Channels.Retry, "is sent again"
	if drop {
		do, done = s.Channels.Drop, "is dropped"
	}
	if err := do(ctx, s.workspace.ID, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "delivery %d %s\n", id, done)
	return err
}
