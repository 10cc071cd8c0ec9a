package prometheus

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"cairn/internal/domain/fault"
)

// scrapeTime bounds reading and serving a scrape.
const scrapeTime = 10 * time.Second

// Show serves this process's metrics at address until stop is called. If address is empty,
// it does nothing.
func Show(address string, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "cannot serve worker metrics at "+address,
			"set CAIRN_WORKER_METRICS to a free host:port such as 127.0.0.1:9090, or leave it empty")
	}
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", OfProcess())
	s := &http.Server{Handler: routes, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime}
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics server stopped", "error", err)
		}
	}()
	log.Info("metrics server started", "address", "http://"+l.Addr().String()+"/metrics")
	return func() { _ = s.Close() }, nil
}
