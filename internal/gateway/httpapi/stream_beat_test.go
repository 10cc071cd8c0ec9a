package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/gateway/edge"
	"cairn/internal/testkit"
)

// While nothing is new, comments keep the connection alive.
func TestASilentStreamLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithTimeout(t.Context(), 2*edge.BeatEvery+time.Second)
		defer leave()
		g := &Gateway{}
		to := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		opened, err := edge.New(edge.Options{Closing: t.Context()}).NewStreams(streamLimits).
			Open(to, r, edge.Holder{}, eventsEvery)
		testkit.Must(t, err)
		defer opened.Close()
		w := watched{progress: func(context.Context) (any, bool, error) { return "the same", false, nil }}
		if err := g.follow(ctx, &stream{Stream: opened}, w, event{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := to.Body.String(); strings.Count(got, "event: progress\n") != 1 ||
			strings.Count(got, ": still there\n\n") != 2 {
			t.Errorf("written: %q", got)
		}
	})
}
