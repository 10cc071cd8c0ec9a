package browsertest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"cairn/internal/gateway/console"
)

// record holds the routes of the console that no browser has used.
type record struct {
	mux *http.ServeMux // of the patterns alone: the console serves copies of the requests, which lack them

	mu     sync.Mutex
	missed map[string]bool
}

func newRecord() *record {
	out := &record{mux: http.NewServeMux(), missed: map[string]bool{}}
	for _, p := range console.New(console.Services{}, console.Options{}).Routes() {
		out.mux.Handle(p, http.NotFoundHandler())
		out.missed[p] = true
	}
	return out
}

// process is the record of this process.
var process = sync.OnceValue(newRecord)

// Missed returns the patterns of the routes of the console that no browser of this process has used. One that was
// answered with an error counts as missed.
func Missed() []string { return process().list() }

func (rec *record) list() []string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Sorted(maps.Keys(rec.missed))
}

// watch notes the routes that browsers use at a handler.
func (rec *record) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := rec.mux.Handler(r)
		if pattern == "" || !strings.Contains(r.UserAgent(), "Chrome/") {
			next.ServeHTTP(w, r)
			return
		}
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(s, r)
		if s.status < http.StatusBadRequest {
			rec.mu.Lock()
			delete(rec.missed, pattern)
			rec.mu.Unlock()
		}
	})
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer of the server.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
