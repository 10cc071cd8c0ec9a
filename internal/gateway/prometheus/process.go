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
		"Reads of stored entries that were withheld because they contain prompt injection.", []string{"store"}, nil)
	prefix = prometheus.NewDesc("cairn_prefix_changes",
		"Changes of the prompt prefix of a conversation within an hour.", nil, nil)
	learnt = prometheus.NewDesc("cairn_learning_outcomes_total",
		"Outcomes of spans and questions that memory skills learn from: scored, or masked by an endpoint failure.",
		[]string{"kind", "state"}, nil)
	alarms = prometheus.NewDesc("cairn_learning_alarms_total",
		"Training iterations and evolution rounds with too many masked outcomes.", []string{"kind"}, nil)
	inexact = prometheus.NewDesc("cairn_search_inexact_total",
		"Searches that reached a limit before the best documents by words were certain.", nil, nil)
	refusedAdds = prometheus.NewDesc("cairn_adds_refused_total",
		"Adds to memory that were refused because too many were open.", nil, nil)
	ambiguous = prometheus.NewDesc("cairn_delivery_ambiguous_total",
		"Messages to chat platforms that were sent again after an unknown outcome.", []string{"platform"}, nil)
	rejected = prometheus.NewDesc("cairn_channel_rejected_total",
		"Events of chat platforms that were not read: unsigned, or undecodable.", []string{"platform", "reason"}, nil)
)

// prefixBuckets are numbers of changes within an hour. Sessions of half an hour cause up to
// three; investigate higher numbers.
var prefixBuckets = []int{1, 2, 3, 5, 10, 20}

// process exports the counters of this process.
type process struct{}

func (process) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{blocked, prefix, learnt, alarms, inexact, refusedAdds, ambiguous, rejected} {
		out <- d
	}
}

func (process) Collect(out chan<- prometheus.Metric) {
	seen := metrics.Read()
	out <- prometheus.MustNewConstMetric(inexact, prometheus.CounterValue, float64(seen.Inexact))
	out <- prometheus.MustNewConstMetric(refusedAdds, prometheus.CounterValue, float64(seen.RefusedAdds))
	for platform, n := range seen.Ambiguous {
		out <- prometheus.MustNewConstMetric(ambiguous, prometheus.CounterValue, float64(n), platform)
	}
	for r, n := range seen.Rejected {
		out <- prometheus.MustNewConstMetric(rejected, prometheus.CounterValue, float64(n), r.Platform, r.Reason)
	}
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

// OfProcess returns a handler with the metrics of this process, for a worker, which serves
// no requests:
//
//	cairn_blocked_entries_total{store}  stored entries that were withheld because they contain prompt injection
//	cairn_prefix_changes                changes of a conversation's prompt prefix within an hour: above le="3",
//	                                    prompts are paid that the provider could have cached
//	cairn_learning_outcomes_total{kind,state}, cairn_learning_alarms_total{kind}
//	                                    outcomes of trainings (kind train) and evolution rounds (evolve); state
//	                                    masked is lost to an endpoint failure; an alarm is an iteration or a round
//	                                    with more than 20 % masked outcomes
func OfProcess() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(process{}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
