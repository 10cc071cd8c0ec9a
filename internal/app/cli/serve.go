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
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/gateway/prometheus"
)

func (c *cli) serve() *cobra.Command {
	var listen, openapi string
	var check bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API until Ctrl-C",
		Example: "  cairn serve --listen 127.0.0.1:0\n  cairn serve --openapi -", Args: cobra.NoArgs,
		Long: "Serve the HTTP API until Ctrl-C. Requests need a key: `cairn keys create` makes one. On Ctrl-C, " +
			"requests that\nare under way finish first. Without DATABASE_URL and TEMPORAL_ADDRESS it starts the " +
			"development stack, with a\nworker; otherwise `worker` runs beside it.",
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
		"host:port to listen on; port 0 takes a free one (default $CAIRN_LISTEN, else 127.0.0.1:8080)")
	cmd.Flags().StringVar(&openapi, "openapi", "",
		"write the OpenAPI document to this file, - for standard output, and serve nothing")
	cmd.Flags().BoolVar(&check, "check", false,
		"ask the gateway that listens there whether it is ready, and serve nothing: for containers without curl")
	return cmd
}

func (c *cli) runServe(ctx context.Context, listen string) error {
	s, err := c.open(ctx, needs{temporal: true, make: true, listen: listen})
	if err != nil {
		return err
	}
	defer s.close()
	listen = cmp.Or(listen, s.Config.Listen)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "the gateway cannot listen on "+listen,
			"choose another address with --listen; port 0 takes a free one")
	}
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	fmt.Fprintf(c.out, "ready: http://%s answers; /openapi.json describes it, `cairn keys create` makes a key for it\n",
		l.Addr())
	return s.Gateway(prometheus.New(s.Store)).Serve(ctx, l)
}

// describe writes the OpenAPI document. It needs no server: the document is
// what the handlers are.
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
		return fault.Wrap(err, fault.InvalidArgument, "the document cannot be written to "+file,
			"give the path of a file in a folder that exists")
	}
	return nil
}

// checkServe fails when the gateway on this machine is not ready.
func (c *cli) checkServe(ctx context.Context, listen string) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	host, port, err := here(cmp.Or(listen, cfg.Listen))
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
		return fault.Wrap(err, fault.Unavailable, "no gateway answers", "start one: cairn serve")
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, answer)
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the gateway is not ready", "")
	}
	fmt.Fprintln(c.out, "ready")
	return nil
}

// checkPatience is longer than the gateway's own, so that its answer is heard.
const checkPatience = 4 * time.Second

// here is how this machine reaches a gateway that listens there.
func here(listen string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() { // it listens everywhere, so here, too
		host = "localhost"
	}
	return host, port, err
}

// codecEndpoint is where the Temporal UI of a development stack has payloads
// decrypted, "" when they are plain or nobody can tell.
func codecEndpoint(cfg config.Config, listen string) string {
	if cfg.PayloadKeys == "" {
		return ""
	}
	if cfg.PublicBaseURL != "" {
		return strings.TrimRight(cfg.PublicBaseURL, "/") + httpapi.CodecPath
	}
	host, port, err := here(cmp.Or(listen, cfg.Listen))
	if err != nil || port == "0" {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + httpapi.CodecPath
}
