package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
)

// What went wrong inside is for the log, not for the caller.
func TestAPanicIsAnInternalErrorWithoutDetail(t *testing.T) {
	var logged bytes.Buffer
	g := New(&app.Host{Config: config.Config{RequestBytes: 1000}, Log: slog.New(slog.NewTextHandler(&logged, nil))}, NoMeter)
	g.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("the secret reason") })
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/panic", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"internal"`) || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(logged.String(), "the secret reason") {
		t.Error("the log does not say why")
	}
}
