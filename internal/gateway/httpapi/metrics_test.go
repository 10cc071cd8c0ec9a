package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// tally is a meter that stores what it records.
type tally struct{ routes []string }

func (m *tally) Request(route string, _ int, _ time.Duration) { m.routes = append(m.routes, route) }
func (m *tally) Handler() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
}

func TestTheCountsAreShownToWhomTheyShallBe(t *testing.T) {
	for who, status := range map[string]int{"open": http.StatusOK, "key": http.StatusUnauthorized,
		"off": http.StatusNotFound} {
		m := &tally{}
		g := New(Services{Log: slog.New(slog.DiscardHandler)}, Options{RequestBytes: 1000, Metrics: who}, m)
		for _, path := range []string{"/healthz", "/v1/runs/1", "/v1/runs/2", "/lost/1"} {
			g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		}
		if want := []string{"GET /healthz", "GET /v1/runs/{id}", "GET /v1/runs/{id}", ""}; !slices.Equal(m.routes,
			want) {
			t.Errorf("counted %q", m.routes)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != status {
			t.Errorf("CAIRN_METRICS=%s: status %d, want %d", who, w.Code, status)
		}
	}
}
