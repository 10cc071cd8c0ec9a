package prometheus

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"cairn/internal/domain/fault"
)

// scrapeTime bounds reading a scrape's request and answering it.
const scrapeTime = 10 * time.Second

// Show serves this process' counts at an address, if there is one, until it is
// told to stop.
func Show(address string, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "the worker cannot show its counts at "+address,
			"choose another host:port in CAIRN_WORKER_METRICS, or leave it empty")
	}
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", OfProcess())
	s := &http.Server{Handler: routes, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime}
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the counts are not shown any more", "error", err)
		}
	}()
	log.Info("the counts are shown", "address", "http://"+l.Addr().String()+"/metrics")
	return func() { _ = s.Close() }, nil
}
