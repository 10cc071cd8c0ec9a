package prometheus

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/internal/domain/metrics"
)

var (
	blocked = prometheus.NewDesc("cairn_blocked_entries_total",
		"Looks at kept entries that were not shown, since they would attack their reader.", []string{"store"}, nil)
	prefix = prometheus.NewDesc("cairn_prefix_changes",
		"Changes of how the prompts of a conversation begin, by how many there were within an hour.", nil, nil)
	learnt = prometheus.NewDesc("cairn_learning_outcomes_total",
		"Outcomes of spans and questions that memory skills learn from: scored, or masked since the endpoint failed.",
		[]string{"kind", "state"}, nil)
	alarms = prometheus.NewDesc("cairn_learning_alarms_total",
		"Iterations of a training and rounds of evolution of which too much was masked.", []string{"kind"}, nil)
)

// prefixBuckets are numbers of changes within an hour: three are what sessions of
// half an hour bring with them, more are a reason to look.
var prefixBuckets = []int{1, 2, 3, 5, 10, 20}

// process shows what this process has counted.
type process struct{}

func (process) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{blocked, prefix, learnt, alarms} {
		out <- d
	}
}

func (process) Collect(out chan<- prometheus.Metric) {
	seen := metrics.Read()
	for store, n := range seen.Blocked {
		out <- prometheus.MustNewConstMetric(blocked, prometheus.CounterValue, float64(n), store)
	}
	for kind, n := range seen.Learnt {
		out <- prometheus.MustNewConstMetric(learnt, prometheus.CounterValue, float64(n.Scored), kind, "scored")
		out <- prometheus.MustNewConstMetric(learnt, prometheus.CounterValue, float64(n.Masked), kind, "masked")
		out <- prometheus.MustNewConstMetric(alarms, prometheus.CounterValue, float64(n.Alarms), kind)
	}
	buckets := map[float64]uint64{}
	var count uint64
	sum := 0
	for changes, n := range seen.Prefix {
		count += uint64(n)
		sum += changes * n
		for _, b := range prefixBuckets {
			if changes <= b {
				buckets[float64(b)] += uint64(n)
			}
		}
	}
	out <- prometheus.MustNewConstHistogram(prefix, count, float64(sum), buckets)
}

// OfProcess shows what this process counts, for a worker, which serves no
// requests:
//
//	cairn_blocked_entries_total{store}  kept entries that were not shown, since they would attack their reader
//	cairn_prefix_changes                changes of how a conversation's prompts begin, by how many there were within
//	                                    an hour:
//	                                    what is above le="3" pays for prompts that providers could have kept
//	cairn_learning_outcomes_total{kind,state}, cairn_learning_alarms_total{kind}
//	                                    what trainings (kind train) and rounds of evolution (evolve) came to: state
//	                                    masked is
//	                                    trouble of the endpoint; an alarm is an iteration or a round with more than
//	                                    20 % of it
func OfProcess() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(process{}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes})
}
