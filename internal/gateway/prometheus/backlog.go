package prometheus

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cairn/internal/domain/readmodel"
)

var (
	runsOpen     = ofKind("cairn_runs_open", "Runs that have not ended.")
	runsOldest   = ofKind("cairn_runs_open_oldest_seconds", "Age of the oldest open run.")
	outboxTasks  = ofKind("cairn_outbox_rows", "Outbox tasks that are not delivered yet.")
	oldestOutbox = ofKind("cairn_outbox_oldest_seconds", "Age of the oldest outbox task that is not delivered yet.")
	outboxStuck  = ofKind("cairn_outbox_stuck", "Outbox tasks that have failed 10 times in a row, or for 15 minutes.")
	commitsLost  = prometheus.NewDesc("cairn_lost_commits_total",
		"Activities that did not find their run, because the database was restored from a backup.", nil, nil)
	callsUnknown = prometheus.NewDesc("cairn_model_calls_unknown",
		"Model calls that were in flight at a crash and not repeated; they may have been paid.", nil, nil)
	tasksDue     = ofKind("cairn_tasks_due", "Scheduled tasks that are due and wait for the sweep.")
	oldestDue    = ofKind("cairn_tasks_due_oldest_seconds", "Time since the oldest due task became due.")
	canaries     = prometheus.NewDesc("cairn_policy_canaries", "Updated policies on canary.", nil, nil)
	oldestCanary = prometheus.NewDesc("cairn_policy_canaries_oldest_seconds", "Age of the oldest canary.", nil, nil)
	daysFailed   = prometheus.NewDesc("cairn_reflections_given_up",
		"Days whose reflection failed three times in a row.", nil, nil)
	emptyWeek = prometheus.NewDesc("cairn_reflections_empty_week",
		"Workspaces whose reflections were empty for 7 days although they have new messages.", nil, nil)
	databaseUp = prometheus.NewDesc("cairn_database_up", "Whether the database answered this scrape.", nil, nil)
)

func ofKind(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"kind"}, nil)
}

// scrapePatience is how long a scrape waits for the database.
const scrapePatience = 2 * time.Second

// backlog reads the backlog with one statement at each scrape.
type backlog struct{ BacklogReader }

func (l backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsOpen, runsOldest, outboxTasks, oldestOutbox, outboxStuck, commitsLost,
		callsUnknown, tasksDue, oldestDue, canaries, oldestCanary, daysFailed, emptyWeek, databaseUp} {
		out <- d
	}
}

func (l backlog) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	show := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	seen, err := l.Backlog(ctx)
	if err != nil { // reports no old numbers, which would look current
		show(databaseUp, 0)
		return
	}
	waiting := func(count, oldest *prometheus.Desc, kind string, w readmodel.Waiting) {
		show(count, float64(w.Count), kind)
		show(oldest, w.Oldest.Seconds(), kind)
	}
	for kind, w := range seen.Runs {
		waiting(runsOpen, runsOldest, string(kind), w)
	}
	for kind, w := range seen.Duties {
		waiting(outboxTasks, oldestOutbox, kind, w)
	}
	for kind, w := range seen.Stuck {
		show(outboxStuck, float64(w.Count), kind)
	}
	out <- prometheus.MustNewConstMetric(commitsLost, prometheus.CounterValue, float64(seen.LostCommits))
	for kind, w := range seen.Due {
		waiting(tasksDue, oldestDue, string(kind), w)
	}
	show(canaries, float64(seen.Canaries.Count))
	show(oldestCanary, seen.Canaries.Oldest.Seconds())
	show(daysFailed, float64(seen.FailedDays))
	show(emptyWeek, float64(seen.EmptyWeek))
	show(callsUnknown, float64(seen.UnknownCalls))
	show(databaseUp, 1)
}
