package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/outbox"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/gateway/prometheus"
)

// seen is a backlog, or a database that does not respond.
type seen struct{ err error }

func (s seen) Backlog(context.Context) (readmodel.Backlog, error) {
	return readmodel.Backlog{Runs: map[run.Kind]readmodel.Waiting{run.Distill: {Count: 4, Oldest: time.Hour}},
		Duties: map[string]readmodel.Waiting{outbox.DriveRun: {Count: 3, Oldest: time.Minute},
			outbox.EmbedDoc: {}},
		UnknownCalls: 5,
		Due: map[scheduled.Kind]readmodel.Waiting{scheduled.Reflection: {Count: 7, Oldest: 90 * time.Second},
			scheduled.Turn: {}}, FailedDays: 2}, s.err
}

func scrape(t *testing.T, m httpapi.Meter, requests ...string) string {
	t.Helper()
	g := httpapi.New(httpapi.Services{Log: slog.New(slog.DiscardHandler)},
		httpapi.Options{RequestBytes: 1000, Metrics: "open"}, m)
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for _, path := range requests {
		ask(path)
	}
	w := ask("/metrics")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

func TestRequestsAreCountedByRouteNeverByPath(t *testing.T) {
	t.Parallel()
	shown := scrape(t, prometheus.New(seen{}), "/healthz", "/healthz", "/v1/runs/1", "/v1/runs/2", "/nothing/1",
		"/nothing/2")
	for _, want := range []string{`cairn_http_requests_total{route="GET /healthz",status="200"} 2`,
		`cairn_http_requests_total{route="GET /v1/runs/{id}",status="401"} 2`,
		`cairn_http_requests_total{route="none",status="404"} 2`,
		`cairn_http_request_seconds_count{route="GET /healthz"} 2`, "cairn_database_up 1", "go_goroutines"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestWhatNeedsALookIsShownByKind(t *testing.T) {
	t.Parallel()
	shown := scrape(t, prometheus.New(seen{}))
	for _, want := range []string{`cairn_tasks_due{kind="reflection"} 7`,
		`cairn_tasks_due_oldest_seconds{kind="reflection"} 90`, `cairn_tasks_due{kind="turn"} 0`,
		"cairn_reflections_given_up 2", `cairn_runs_open{kind="distill"} 4`,
		`cairn_runs_open_oldest_seconds{kind="distill"} 3600`, `cairn_outbox_rows{kind="drive"} 3`,
		`cairn_outbox_oldest_seconds{kind="drive"} 60`,
		`cairn_outbox_rows{kind="embed"} 0`, "cairn_model_calls_unknown 5"} {
		if !strings.Contains(shown, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

func TestTheCountsAreShownWithoutADatabase(t *testing.T) {
	t.Parallel()
	shown := scrape(t, prometheus.New(seen{errors.New("gone")}), "/healthz")
	if !strings.Contains(shown, "cairn_database_up 0") || strings.Contains(shown, "cairn_outbox_rows{") ||
		!strings.Contains(shown, "cairn_http_requests_total") {
		t.Error(shown)
	}
}
