package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
)

func (c *cli) serve() *cobra.Command {
	var listen, openapi string
	var check bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API and MCP until Ctrl-C",
		Example: "  cairn serve --listen 127.0.0.1:0\n  cairn serve --openapi -", Args: noArguments,
		Long: "Serve the HTTP API and MCP until Ctrl-C. Requests need an API key: create one with `cairn keys " +
			"create`. It also serves the web console at /console/. On Ctrl-C, requests in progress " +
			"finish first. Without DATABASE_URL and TEMPORAL_ADDRESS, " +
			"this command starts the development stack with a worker. Otherwise, run the program `worker` as well. " +
			"With CAIRN_CHANNELS, it also connects those accounts of chat platforms, as `cairn gateway` does.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case openapi != "":
				return c.describe(openapi)
			case check:
				return c.checkServe(cmd.Context(), listen)
			}
			return c.runServe(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "",
		"host:port to listen on; port 0 selects a free one (default $CAIRN_LISTEN, else 127.0.0.1:8080)")
	cmd.Flags().StringVar(&openapi, "openapi", "",
		"write the OpenAPI document to this file (- for standard output) and exit (default none)")
	cmd.Flags().BoolVar(&check, "check", false,
		"check that the gateway at --listen is ready and exit; for containers without curl")
	return cmd
}

func (c *cli) runServe(ctx context.Context, listen string) error {
	s, err := c.open(ctx, needs{temporal: true, gateway: true, make: true, listen: listen})
	if err != nil {
		return err
	}
	defer s.close()
	listen = cmp.Or(listen, s.Config.Listen)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "listen on "+listen,
			"choose another address with --listen, such as --listen 127.0.0.1:0 for a free port")
	}
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if s.stack != nil {
		s.Config.DrainDelay = 0 // no load balancer
	}
	if err := s.CheckTemporal(ctx); err != nil {
		s.Log.Warn("serving without Temporal: requests are accepted and answered later", "error", err)
	}
	_ = s.CheckEmbedder(ctx) // logs a failure; the gateway serves without vectors
	ctx, stopped, err := s.startAccounts(ctx)
	if err != nil {
		return err
	}
	defer stopped()
	c.announceConsole(s, l)
	fmt.Fprintf(c.out, "ready: http://%s serves the API; see /openapi.json, and create a key with `cairn keys "+
		"create --name NAME`\n",
		l.Addr())
	return s.serveGateway(ctx, l)
}

// startAccounts serves the accounts of chat platforms until ctx ends, if CAIRN_CHANNELS names some. The returned
// context ends if they cannot be served any more; stopped waits for their end.
func (s *session) startAccounts(ctx context.Context) (serving context.Context, stopped func(), err error) {
	if s.Config.Channels == "" {
		return ctx, func() {}, nil
	}
	accounts, err := s.OpenAccounts(ctx)
	if err != nil {
		return ctx, nil, err
	}
	s.Webhooks = s.WebhookHandler(accounts)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		defer cancel()
		if err := s.ServeAccounts(ctx, accounts); err != nil {
			s.Log.Error("accounts of chat platforms stopped", "error", err)
		}
	})
	return ctx, func() {
		cancel()
		running.Wait()
	}, nil
}

// describe writes the OpenAPI document, which is generated from the handlers. It needs no server.
func (c *cli) describe(file string) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	document, err := app.Describe(cfg)
	if err != nil {
		return err
	}
	if file == "-" {
		_, err = c.out.Write(document)
		return err
	}
	if err := os.WriteFile(file, document, 0o644); err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "write the OpenAPI document to "+file,
			"pass the path of a file in an existing folder")
	}
	return nil
}

// checkServe returns an error if the gateway on this machine is not ready.
func (c *cli) checkServe(ctx context.Context, listen string) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	host, port, err := localAddress(cmp.Or(listen, cfg.Listen))
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "no gateway responds at "+net.JoinHostPort(host, port),
			"start one with `cairn serve`")
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the gateway is not ready",
			"run `cairn doctor`, and check DATABASE_URL and TEMPORAL_ADDRESS of the gateway")
	}
	fmt.Fprintln(c.out, "ready")
	return nil
}

// checkPatience bounds the readiness request. It exceeds the gateway's own timeout, so that the
// gateway can respond with the reason.
const checkPatience = 4 * time.Second

// localAddress is the address at which this machine reaches a gateway that listens on listen.
func localAddress(listen string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() { // it listens on all interfaces
		host = "localhost"
	}
	return host, port, err
}

// codecEndpoint is the URL at which the Temporal UI of a development stack decrypts payloads.
// It is "" if payloads are not encrypted or the port is not known.
func codecEndpoint(cfg config.Config, listen string) string {
	if cfg.PayloadKeys == "" {
		return ""
	}
	if cfg.PublicBaseURL != "" {
		return strings.TrimRight(cfg.PublicBaseURL, "/") + httpapi.CodecPath
	}
	host, port, err := localAddress(cmp.Or(listen, cfg.Listen))
	if err != nil || port == "0" {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + httpapi.CodecPath
}
