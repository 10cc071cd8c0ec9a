// Package prometheus counts what a gateway does, for Prometheus. It has a registry
// of its own: nothing that another package registers globally is shown.
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

	"cairn/internal/service/inspect"
)

// Meter is a gateway.Meter. Its series:
//
//	cairn_http_requests_total{route,status}   answered requests; route "none" is what no route takes
//	cairn_http_request_seconds{route}         how long they took; streams and waits last as long as they are meant to
//	cairn_runs_open{kind}, cairn_runs_open_oldest_seconds{kind}
//	                                          not ended: an age beyond what a run takes is a run that is stuck
//	cairn_outbox_rows{kind}, cairn_outbox_oldest_seconds{kind}
//	                                          accepted and not done: if the age of kind "drive" grows, no worker runs;
//	                                          kind "embed" are texts that wait for their vector
//	cairn_tasks_due{kind}, cairn_tasks_due_oldest_seconds{kind}
//	                                          scheduled tasks that wait for the sweep: a growing age means that it
//	                                          does not run
//	cairn_policy_canaries, cairn_policy_canaries_oldest_seconds
//	                                          updated policies that a share of the live builds tries: judged within
//	                                          30 days
//	cairn_reflections_given_up                days whose reflection failed three times in a row
//	cairn_reflections_unheard                 workspaces whose days were empty for a week although people talked
//	cairn_model_calls_unknown                 in flight at a crash and not sent again: perhaps paid
//	cairn_database_up                         whether the database answered this scrape
//	cairn_blocked_entries_total, cairn_prefix_changes, cairn_learning_outcomes_total, cairn_learning_alarms_total
//	                                          of this process alone: see OfProcess
type Meter struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// BacklogReader counts what needs a look.
type BacklogReader interface {
	Backlog(ctx context.Context) (inspect.Backlog, error)
}

// New makes a meter that also shows what l sees.
func New(l BacklogReader) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cairn_http_requests_total",
			Help: "Answered requests."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cairn_http_request_seconds",
			Help:    "How long requests took.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60}}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, backlog{l}, process{}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts one answered request.
func (m *Meter) Request(route string, status int, took time.Duration) {
	route = cmp.Or(route, "none")
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// mostScrapes is how many may ask at once: the relay needs the same connections.
const mostScrapes = 2

// Handler shows the counts.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes})
}
