// Package prometheus exports metrics of a gateway to Prometheus. It uses its own registry, so
// metrics that other packages register globally are not exported.
package prometheus

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/internal/domain/readmodel"
)

// Meter implements httpapi.Meter. It exports these series:
//
//	cairn_http_requests_total{route,status}   requests; route "none" means that no route matched
//	cairn_http_request_seconds{route}         duration of requests, including the wait of streams and long polls
//	cairn_runs_open{kind}, cairn_runs_open_oldest_seconds{kind}
//	                                          open runs; an age above the usual duration means that a run is stuck
//	cairn_outbox_rows{kind}, cairn_outbox_oldest_seconds{kind}
//	                                          outbox tasks not delivered yet; if the age of kind "drive" grows, no
//	                                          worker runs; kind "embed" is texts that wait for their vector
//	cairn_tasks_due{kind}, cairn_tasks_due_oldest_seconds{kind}
//	                                          scheduled tasks that wait for the sweep; if the age grows, the sweep
//	                                          does not run
//	cairn_policy_canaries, cairn_policy_canaries_oldest_seconds
//	                                          updated policies on canary; they are decided within 30 days
//	cairn_reflections_given_up                days whose reflection failed three times in a row
//	cairn_reflections_empty_week              workspaces whose reflections were empty for 7 days despite new messages
//	cairn_model_calls_unknown                 in flight at a crash and not repeated; they may have been paid
//	cairn_database_up                         whether the database answered this scrape
//	cairn_blocked_entries_total, cairn_prefix_changes, cairn_learning_outcomes_total, cairn_learning_alarms_total,
//	cairn_adds_refused_total, cairn_search_inexact_total                of this process only: see OfProcess
type Meter struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// BacklogReader counts open work.
type BacklogReader interface {
	Backlog(ctx context.Context) (readmodel.Backlog, error)
}

// New returns a meter that also exports the backlog that l reads.
func New(l BacklogReader) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cairn_http_requests_total",
			Help: "Number of requests."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cairn_http_request_seconds",
			Help:    "Duration of requests.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60}}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, backlog{l}, process{}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request records one request. An empty route is recorded as "none".
func (m *Meter) Request(route string, status int, took time.Duration) {
	route = cmp.Or(route, "none")
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// maxScrapes is the maximum number of parallel scrapes: the relay needs the same connections.
const maxScrapes = 2

// Handler serves the metrics.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
