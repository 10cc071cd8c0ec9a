package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/console"
	"cairn/internal/gateway/prometheus"
	"cairn/internal/service/apikey"
)

func (c *cli) consoleCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:     "console",
		Short:   "Print a link that signs in to the web console",
		Example: "  cairn console\n  cairn console --scopes read",
		Args:    noArguments,
		Long: "Print a link that signs a browser in to the web console for the workspace. The link works once, " +
			"within a minute. `cairn serve` and `cairn dev` serve the console. You can also sign in with an API key.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.open(cmd.Context(), needs{make: true})
			if err != nil {
				return err
			}
			defer s.close()
			link, err := s.consoleLink(cmd.Context(), scopes)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.out, link)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scopes", []string{"read", "write", "admin"},
		"what the browser may do: read, write, admin")
	return cmd
}

// consoleLink returns a sign-in link, which opens a page below the workspace.
func (s *session) consoleLink(ctx context.Context, scopes []string, page ...string) (string, error) {
	if !s.Config.ConsoleOn() {
		return "", fault.New(fault.Misconfigured, "the console is off", "unset CAIRN_CONSOLE, or set it to on")
	}
	var wanted []apikey.Scope
	for _, scope := range scopes {
		wanted = append(wanted, apikey.Scope(scope))
	}
	code, err := s.Sessions.Link(ctx, s.workspace, account(), wanted)
	if err != nil {
		return "", err
	}
	q := url.Values{"code": {code}}
	if len(page) > 0 {
		q.Set("next", console.PagePath(s.workspace.Name, page...))
	}
	return s.consoleURL() + "link?" + q.Encode(), nil
}

// consoleURL returns the address of the console: the public one, that of a gateway in this folder, or the configured
// one.
func (s *session) consoleURL() string {
	base := strings.TrimRight(s.Config.PublicBaseURL, "/")
	if base == "" {
		running, _ := os.ReadFile(s.addressFile()) // of a gateway that this or another process serves
		listen := cmp.Or(s.Config.ConsoleAddress(), strings.TrimSpace(string(running)), s.Config.Listen)
		base = "http://" + listen
		if host, port, err := localAddress(listen); err == nil {
			base = "http://" + net.JoinHostPort(host, port)
		}
	}
	return base + console.Root
}

// addressFile is the file with the address of the gateway that serves the stack of this folder.
func (s *session) addressFile() string { return filepath.Join(s.Config.Home, "gateway.address") }

// serveGateway serves the API on l, and the console there or at its own address, until ctx ends.
func (s *session) serveGateway(ctx context.Context, l net.Listener) error {
	g := s.Gateway(prometheus.New(s.Store))
	if s.stack != nil {
		if err := os.WriteFile(s.addressFile(), []byte(l.Addr().String()+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the address of the gateway: %w", err)
		}
		defer os.Remove(s.addressFile())
	}
	apart, err := s.listenConsole()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if apart == nil {
		return g.Serve(ctx, l)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var serving sync.WaitGroup
	var failed error
	serving.Go(func() {
		defer cancel()
		failed = g.ServeConsole(ctx, apart)
	})
	err = g.Serve(ctx, l)
	cancel()
	serving.Wait()
	return errors.Join(err, failed)
}

// listenConsole listens at the console's own address, if it has one.
func (s *session) listenConsole() (net.Listener, error) {
	address := s.Config.ConsoleAddress()
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "listen on "+address,
			"choose another address in CAIRN_CONSOLE, or set it to on")
	}
	return l, nil
}

// listenLocally listens at CAIRN_LISTEN, or at a free port if another program does so.
func (s *session) listenLocally() (net.Listener, error) {
	l, err := net.Listen("tcp", s.Config.Listen)
	if err == nil {
		return l, nil
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "listen on a free port", "check the loopback interface")
	}
	return l, nil
}

// announceConsole prints the address of the console.
func (c *cli) announceConsole(s *session, l net.Listener) {
	if !s.Config.ConsoleOn() {
		return
	}
	address := cmp.Or(s.Config.ConsoleAddress(), l.Addr().String())
	base := strings.TrimRight(s.Config.PublicBaseURL, "/")
	if host, port, err := localAddress(address); base == "" && err == nil {
		base = "http://" + net.JoinHostPort(host, port)
	}
	fmt.Fprintf(c.out, "console: %s — sign in with an API key, or with the link of `cairn console`\n",
		base+console.Root)
}
