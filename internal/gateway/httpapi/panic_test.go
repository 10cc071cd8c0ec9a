package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The cause of a panic is logged and not sent.
func TestAPanicIsAnInternalErrorWithoutDetail(t *testing.T) {
	var logged bytes.Buffer
	g := New(Services{Log: slog.New(slog.NewTextHandler(&logged, nil))}, Options{RequestBytes: 1000}, NoMeter)
	g.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("the secret reason") })
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/panic", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"internal"`) ||
		strings.Contains(w.Body.String(), "secret") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(logged.String(), "the secret reason") {
		t.Error("the log does not say why")
	}
}
