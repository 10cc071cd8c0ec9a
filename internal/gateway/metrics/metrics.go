// Package metrics counts what a gateway does, for Prometheus. It has a registry
// of its own: nothing that another package registers globally is shown.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Meter is a gateway.Meter. Its series:
//
//	cairn_http_requests_total{route,status}   answered requests; route "none" is what no route takes
//	cairn_http_request_seconds{route}         how long they took; streams and waits last as long as they are meant to
//	cairn_outbox_rows, cairn_outbox_oldest_seconds
//	                                          accepted and not done: if the age grows, no worker runs
//	cairn_database_up                         whether the database answered this scrape
type Meter struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// Backlog is where the outbox is counted; *store.Store is one.
type Backlog interface {
	Backlog(ctx context.Context) (rows int64, oldest time.Duration, err error)
}

// New makes a meter that also shows b.
func New(b Backlog) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cairn_http_requests_total", Help: "Answered requests."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cairn_http_request_seconds", Help: "How long requests took.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60}}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, backlog{b}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts one answered request.
func (m *Meter) Request(route string, status int, took time.Duration) {
	route = cmp.Or(route, "none")
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// Handler shows the counts.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

var (
	rowsOwed   = prometheus.NewDesc("cairn_outbox_rows", "What was accepted and is not done yet.", nil, nil)
	oldestOwed = prometheus.NewDesc("cairn_outbox_oldest_seconds", "Age of the oldest row of the outbox.", nil, nil)
	databaseUp = prometheus.NewDesc("cairn_database_up", "Whether the database answered this scrape.", nil, nil)
)

// scrapePatience is how long a scrape waits for the database.
const scrapePatience = 2 * time.Second

// backlog asks when it is scraped.
type backlog struct{ Backlog }

func (b backlog) Describe(out chan<- *prometheus.Desc) {
	out <- rowsOwed
	out <- oldestOwed
	out <- databaseUp
}

func (b backlog) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	rows, oldest, err := b.Backlog.Backlog(ctx)
	up := 0.0
	if err == nil {
		up = 1
		out <- prometheus.MustNewConstMetric(rowsOwed, prometheus.GaugeValue, float64(rows))
		out <- prometheus.MustNewConstMetric(oldestOwed, prometheus.GaugeValue, oldest.Seconds())
	}
	out <- prometheus.MustNewConstMetric(databaseUp, prometheus.GaugeValue, up)
}
