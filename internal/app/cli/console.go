package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/devstack"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/console"
	"cairn/internal/gateway/prometheus"
)

func (c *cli) consoleCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:     "console",
		Short:   "Print a link that signs in to the web console",
		Example: "  cairn console\n  cairn console --scopes read",
		Args:    noArguments,
		Long: "Print a link that signs a browser in to the web console for the workspace. The link works once, " +
			"within a minute. `cairn serve` and `cairn dev` serve the console: one of them must run. You can also " +
			"sign in with an API key.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runConsole(cmd.Context(), scopes) },
	}
	cmd.Flags().StringSliceVar(&scopes, "scopes", []string{"read", "write", "admin"},
		"what the browser may do: read, write, admin")
	return cmd
}

func (c *cli) runConsole(ctx context.Context, scopes []string) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	if !cfg.ConsoleOn() {
		return consoleOff()
	}
	if _, running := devstack.Running(cfg.Home); cfg.DatabaseURL == "" && !running {
		return consoleMissing(errors.New("no development stack runs in " + cfg.Home))
	}
	s, err := c.open(ctx, needs{make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.consoleServed(ctx); err != nil {
		return consoleMissing(err)
	}
	link, err := s.consoleLink(ctx, scopes)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, link)
	return nil
}

func consoleOff() error {
	return fault.New(fault.Misconfigured, "the console is off", "unset CAIRN_CONSOLE, or set it to on")
}

// consoleMissing is the error of a link that no browser could open.
func consoleMissing(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "no gateway serves the web console",
		"start one with `cairn serve` and the same --home in another terminal; for a gateway at another address, set "+
			"CAIRN_LISTEN or PUBLIC_BASE_URL as it does")
}

// consoleServed returns an error if no console responds, neither at the address of the links nor, for a public
// address that this machine cannot reach, at the local one.
func (s *session) consoleServed(ctx context.Context) error {
	err := probeConsole(ctx, s.consoleURL())
	if local := s.localConsoleURL(); err != nil && local != s.consoleURL() && probeConsole(ctx, local) == nil {
		return nil
	}
	return err
}

// probeConsole requests the page that sign-in links open.
func probeConsole(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"link", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%slink responds %s", base, res.Status)
	}
	if !strings.Contains(res.Header.Get("Content-Security-Policy"), "trusted-types") {
		return fmt.Errorf("another program responds at %s", base)
	}
	return nil
}

// consoleLink returns a sign-in link, which opens a page below the workspace.
func (s *session) consoleLink(ctx context.Context, scopes []string, page ...string) (string, error) {
	if !s.Config.ConsoleOn() {
		return "", consoleOff()
	}
	var wanted []access.Scope
	for _, scope := range scopes {
		wanted = append(wanted, access.Scope(scope))
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

// consoleURL returns the address of the console: the public one, or else the local one.
func (s *session) consoleURL() string {
	if base := strings.TrimRight(s.Config.PublicBaseURL, "/"); base != "" {
		return base + console.Root
	}
	return s.localConsoleURL()
}

// localConsoleURL returns the address of the console on this machine: that of a gateway in this folder, or the
// configured one.
func (s *session) localConsoleURL() string {
	running, _ := os.ReadFile(s.addressFile()) // of a gateway that this or another process serves
	listen := cmp.Or(s.Config.ConsoleAddress(), strings.TrimSpace(string(running)), s.Config.Listen)
	base := "http://" + listen
	if host, port, err := localAddress(listen); err == nil {
		base = "http://" + net.JoinHostPort(host, port)
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
