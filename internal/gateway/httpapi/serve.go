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
	maxHeader      = 64 << 10 // bytes
)

// Serve accepts connections on l until ctx ends. It then stops accepting, ends streams
// and waits, and gives open requests Options.StopTimeout (CAIRN_STOP_TIMEOUT) to finish.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: g, ReadHeaderTimeout: headerPatience, IdleTimeout: idleConnection,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(g.Log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		g.stop()
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
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
