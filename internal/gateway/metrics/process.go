package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/internal/tally"
)

var (
	blocked = prometheus.NewDesc("cairn_blocked_entries_total", "Looks at kept entries that were not shown, since they would attack their reader.", []string{"store"}, nil)
	prefix  = prometheus.NewDesc("cairn_prefix_changes", "Changes of how the prompts of a conversation begin, by how many there were within an hour.", nil, nil)
)

// prefixBuckets are numbers of changes within an hour: three are what sessions of
// half an hour bring with them, more are a reason to look.
var prefixBuckets = []int{1, 2, 3, 5, 10, 20}

// process shows what this process has counted.
type process struct{}

func (process) Describe(out chan<- *prometheus.Desc) { out <- blocked; out <- prefix }

func (process) Collect(out chan<- prometheus.Metric) {
	seen := tally.Read()
	for store, n := range seen.Blocked {
		out <- prometheus.MustNewConstMetric(blocked, prometheus.CounterValue, float64(n), store)
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
//	cairn_prefix_changes                changes of how a conversation's prompts begin, by how many there were within an hour:
//	                                    what is above le="3" pays for prompts that providers could have kept
func OfProcess() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(process{}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes})
}
