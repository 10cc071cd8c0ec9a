package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// While nothing is new, comments keep the connection alive.
func TestASilentStreamLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithTimeout(t.Context(), 2*beatEvery+time.Second)
		defer leave()
		g := &Gateway{closing: t.Context()}
		to := httptest.NewRecorder()
		s := &stream{w: to, control: http.NewResponseController(to)}
		w := watched{progress: func(context.Context) (any, bool, error) { return "the same", false, nil }}
		if err := g.follow(ctx, s, w, event{}); err != nil {
			t.Error(err)
		}
		if got := to.Body.String(); strings.Count(got, "event: progress\n") != 1 ||
			strings.Count(got, ": still there\n\n") != 2 {
			t.Errorf("written: %q", got)
		}
	})
}
