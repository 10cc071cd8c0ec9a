package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerPatience = 10 * time.Second // for a request's header
	idleConnection = 2 * time.Minute
)

// MaxHeader is the limit of the request line and the headers of a request in bytes. Go's server answers 431 to more.
const MaxHeader = 64 << 10

// Serve accepts connections on l until ctx ends. For Options.DrainDelay, it then serves on, but is not
// ready. After that, it stops accepting, ends streams and waits, and gives open requests
// Options.StopTimeout to finish.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: g, ReadHeaderTimeout: headerPatience, IdleTimeout: idleConnection,
		MaxHeaderBytes: MaxHeader,
		ErrorLog:       slog.NewLogLogger(g.Log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		g.stop()
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	g.drain(server)
	g.stop()
	finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Options.StopTimeout)
	defer cancel()
	if err := server.Shutdown(finishing); err != nil {
		g.Log.Warn("open requests aborted", "after", g.Options.StopTimeout, "error", err)
		return server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}

// drain lets load balancers find out that the gateway stops, before it does.
func (g *Gateway) drain(server *http.Server) {
	if g.Options.DrainDelay <= 0 {
		return
	}
	g.draining.Store(true)
	server.SetKeepAlivesEnabled(false) // clients connect to another gateway
	time.Sleep(g.Options.DrainDelay)
}
