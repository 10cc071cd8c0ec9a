package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

func TestEveryCodeIsAnsweredAsTheTableSays(t *testing.T) {
	t.Parallel()
	for code, row := range fault.Table {
		w := httptest.NewRecorder()
		edge.ProblemOf(fmt.Errorf("do something: %w", fault.New(code, "what happened", ""))).Write(w)
		var p edge.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != row.HTTP || p.Code != code || p.Retryable != row.Retryable || p.Hint != row.Hint ||
			p.Message != "what happened" {
			t.Errorf("%s: status %d, %+v", code, w.Code, p)
		}
	}
}

// The cause of an internal error is logged, and not sent.
func TestCausesOfInternalErrorsAreLoggedOnly(t *testing.T) {
	t.Parallel()
	if raw, _ := json.Marshal(edge.ProblemOf(fault.New(fault.Misconfigured, "x", "").
		With("host", "db.internal"))); strings.Contains(string(raw), "db.internal") {
		t.Errorf("told: %s", raw)
	}
	var log strings.Builder
	e := edge.New(edge.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	p := e.Refuse(t.Context(), "read a row", fmt.Errorf("read a row: %w", errors.New("db.internal refused")))
	if raw, _ := json.Marshal(p); p.Code != fault.Internal || strings.Contains(string(raw), "db.internal") ||
		!strings.Contains(log.String(), "db.internal refused") || !strings.Contains(log.String(), "read a row") {
		t.Errorf("%s, logged %s", raw, log.String())
	}
	log.Reset()
	gone, leave := context.WithCancel(t.Context())
	leave()
	e.Refuse(t.Context(), "read", fault.New(fault.NotFound, "no row", ""))
	e.Refuse(gone, "read", gone.Err())
	if log.Len() != 0 {
		t.Errorf("logged %s", log.String())
	}
}

// The form of another API has the status, headers and texts of the problem.
func TestAProblemInAnotherFormKeepsItsHeaders(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	edge.NewProblem(fault.Unauthenticated, "missing API key", "").With("WWW-Authenticate", "Bearer").
		WriteAs(w, http.StatusTeapot, map[string]string{"detail": "x"})
	if w.Code != http.StatusTeapot || w.Header().Get("WWW-Authenticate") != "Bearer" ||
		w.Header().Get("Content-Type") != "application/json" || strings.TrimSpace(w.Body.String()) != `{"detail":"x"}` {
		t.Errorf("%d, %v: %s", w.Code, w.Header(), w.Body)
	}
}
