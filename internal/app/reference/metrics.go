package reference

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"cairn/internal/domain/metrics"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/gateway/prometheus"
)

// sample is a backlog in which each metric has a value.
type sample struct{}

func (sample) Backlog(context.Context) (readmodel.Backlog, error) {
	return readmodel.Backlog{
		Runs:   map[run.Kind]readmodel.Waiting{run.Turn: {}},
		Duties: map[string]readmodel.Waiting{"drive": {}},
		Due:    map[scheduled.Kind]readmodel.Waiting{scheduled.Turn: {}},
	}, nil
}

// metricsPage describes the metrics of gateways and workers. It reads the names from a scrape.
func metricsPage(p *page, _ string) error {
	gateway := prometheus.New(sample{})
	gateway.Request("GET /v1/skills", http.StatusOK, 0)
	metrics.Blocked("core")
	metrics.Outcomes("train", 1, 1, true)
	metrics.DeliveryAmbiguous("telegram")
	metrics.EventRejected("slack", metrics.Unsigned)
	p.heading(1, "Metrics")
	p.paragraph("A gateway serves metrics for Prometheus at `/metrics`, subject to `CAIRN_METRICS`. A worker serves " +
		"them at the address in `CAIRN_WORKER_METRICS`. Both also serve the standard `go_*` and `process_*` metrics.")
	worker := scrape(prometheus.OfProcess())
	var names []string
	for _, row := range worker {
		names = append(names, row[0])
	}
	header := []string{"Metric", "Type", "Labels", "Description"}
	p.heading(2, "Gateway")
	p.table(header, slices.DeleteFunc(scrape(gateway.Handler()), func(row []string) bool {
		return slices.Contains(names, row[0])
	}))
	p.heading(2, "Every process")
	p.paragraph("Gateways and workers each count these events of their own process since its start.")
	p.table(header, worker)
	return nil
}

// scrape returns one row for each metric of Cairn that h serves.
func scrape(h http.Handler) (rows [][]string) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.SplitSeq(rec.Body.String(), "\n") {
		words := strings.SplitN(line, " ", 4)
		if len(words) == 4 && words[1] == "HELP" && strings.HasPrefix(words[2], "cairn_") {
			rows = append(rows, []string{words[2], "", "", words[3]})
			continue
		}
		if len(rows) == 0 {
			continue
		}
		last := rows[len(rows)-1]
		switch {
		case len(words) == 4 && words[1] == "TYPE" && words[2] == last[0]:
			last[1] = words[3]
		case strings.HasPrefix(line, last[0]) && last[2] == "":
			last[2] = labels(line)
		}
	}
	for _, row := range rows {
		row[0] = quoted(row[0])
	}
	return rows
}

// labels lists the names of the labels of a sample, without those of histogram buckets.
func labels(line string) string {
	_, inside, _ := strings.Cut(line, "{")
	inside, _, _ = strings.Cut(inside, "}")
	var names []string
	for pair := range strings.SplitSeq(inside, ",") {
		if name, _, ok := strings.Cut(pair, "="); ok && name != "le" {
			names = append(names, quoted(name))
		}
	}
	return strings.Join(names, ", ")
}
