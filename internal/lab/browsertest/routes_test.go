package browsertest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// What a browser uses is noted, unless it was answered with an error.
func TestRoutesAreNoted(t *testing.T) {
	t.Parallel()
	const pattern = "POST /console/w/{workspace}/conversations/{conversation}/end"
	rec := newRecord()
	if n := len(rec.list()); n < 80 || !slices.Contains(rec.list(), "POST /console/sign-in") ||
		!slices.Contains(rec.list(), "GET /console/w/{workspace}/audit") {
		t.Errorf("%d routes are known: %q", n, rec.list())
	}
	for _, step := range []struct {
		method, path, program string
		status                int
		done                  bool
	}{
		{"POST", "/console/w/x/conversations/a%2Fb/end", "Chrome/156", http.StatusNotFound, false},
		{"POST", "/console/w/x/conversations/a%2Fb/end", "curl/8", http.StatusSeeOther, false},
		{"GET", "/console/w/x/conversations/a%2Fb/end", "Chrome/156", http.StatusOK, false},
		{"POST", "/console/w/x/conversations/a%2Fb/cancel", "Chrome/156", http.StatusSeeOther, false},
		{"POST", "/console/w/x/conversations/a%2Fb/end", "Chrome/156", http.StatusSeeOther, true},
	} {
		r := httptest.NewRequest(step.method, step.path, nil)
		r.Header.Set("User-Agent", step.program)
		rec.watch(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(step.status)
		})).ServeHTTP(httptest.NewRecorder(), r)
		if done := !slices.Contains(rec.list(), pattern); done != step.done {
			t.Errorf("%+v: done %t", step, done)
		}
	}
}
