package edge_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/testkit"
)

// client is a response that records what is written, and the deadline of each write.
type client struct {
	*httptest.ResponseRecorder
	deadline time.Time
	late     []string // writes without a deadline of their own
	gone     bool     // the client reads no more
}

func (c *client) SetWriteDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *client) Write(p []byte) (int, error) {
	if !c.deadline.Equal(time.Now().Add(edge.WriteTimeout)) {
		c.late = append(c.late, string(p))
	}
	if c.gone {
		time.Sleep(time.Until(c.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return c.ResponseRecorder.Write(p)
}

var limits = edge.StreamLimits{PerHolder: 2, Total: 3, Life: time.Minute, Hint: "wait"}

// opened runs a test with a stream to a client in a bubble, in which time is that of the test.
func opened(t *testing.T, closing func(*testing.T) context.Context, fn func(*testing.T, *edge.Stream, *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		to := &client{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		s, err := edge.New(edge.Options{Closing: closing(t)}).NewStreams(limits).Open(to, r, edge.Holder{}, time.Second)
		testkit.Must(t, err)
		fn(t, s, to)
		s.Close()
		if !to.deadline.IsZero() {
			t.Error("the connection keeps a deadline")
		}
		if len(to.late) != 0 {
			t.Errorf("without a deadline: %q", to.late)
		}
	})
}

func never(t *testing.T) context.Context { return t.Context() }

func TestAStreamHasItsForm(t *testing.T) {
	t.Parallel()
	opened(t, never, func(t *testing.T, s *edge.Stream, to *client) {
		if s.Begun() || len(to.Header()) != 0 {
			t.Error("the header is sent before there is anything to send")
		}
		testkit.Must(t, s.Begin())
		testkit.Must(t, s.Send(edge.Event{ID: "1", Name: "progress", Data: []byte(`{"a":1}`)}))
		testkit.Must(t, s.Send(edge.Event{Data: []byte("[DONE]")}))
		testkit.Must(t, s.Stopping())
		if got, want := to.Body.String(), ": hello\n\nid: 1\nevent: progress\ndata: {\"a\":1}\n\ndata: [DONE]\n\n"+
			"retry: 1000\nevent: stopping\ndata: {}\n\n"; got != want || !s.Begun() || !to.Flushed {
			t.Errorf("written: %q", got)
		}
		h := to.Header()
		if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" ||
			h.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%v", h)
		}
	})
}

// wait waits until the stream has to end, and counts how often it looked.
func wait(s *edge.Stream) (looks int, err error) {
	for {
		if err := s.Wait(nil, nil, nil); err != nil {
			return looks, err
		}
		looks++
	}
}

func TestAStreamEndsAfterItsLife(t *testing.T) {
	t.Parallel()
	opened(t, never, func(t *testing.T, s *edge.Stream, to *client) {
		began := time.Now()
		looks, err := wait(s)
		if took := time.Since(began); !errors.Is(err, edge.ErrTooLong) || !edge.EndsEarly(err) || took != limits.Life {
			t.Errorf("after %s: %v", took, err)
		}
		if looks < 58 || strings.Count(to.Body.String(), ": still there\n\n") < 5 {
			t.Errorf("%d looks, %q", looks, to.Body)
		}
	})
}

func TestAStreamEndsWithTheGateway(t *testing.T) {
	t.Parallel()
	closing := func(t *testing.T) context.Context {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, stop)
		return ctx
	}
	opened(t, closing, func(t *testing.T, s *edge.Stream, _ *client) {
		if _, err := wait(s); !errors.Is(err, edge.ErrStopping) || !edge.EndsEarly(err) {
			t.Error(err)
		}
	})
}

// A client that stops reading ends its stream, also if there is nothing but comments to send.
func TestAClientThatStopsReadingIsLeft(t *testing.T) {
	t.Parallel()
	opened(t, never, func(t *testing.T, s *edge.Stream, to *client) {
		testkit.Must(t, s.Begin())
		to.gone = true
		began := time.Now()
		_, err := wait(s)
		if took := time.Since(began); !errors.Is(err, edge.ErrGone) || edge.EndsEarly(err) ||
			took != edge.BeatEvery+edge.WriteTimeout {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestNewsEndAWait(t *testing.T) {
	t.Parallel()
	opened(t, never, func(t *testing.T, s *edge.Stream, _ *client) {
		over := make(chan struct{})
		close(over)
		began := time.Now()
		testkit.Must(t, s.Wait(over, nil, nil))
		testkit.Must(t, s.Wait(nil, over, nil))
		testkit.Must(t, s.Wait(nil, nil, over))
		if time.Since(began) != 0 {
			t.Errorf("waited for %s", time.Since(began))
		}
	})
}

// The streams of one protocol take no room from those of another, and those of one holder none from another's.
func TestStreamsAreCountedByProtocolAndHolder(t *testing.T) {
	t.Parallel()
	e := edge.New(edge.Options{Closing: t.Context()})
	one, other := e.NewStreams(limits), e.NewStreams(limits)
	ada := edge.Holder{Kind: audit.Key, Workspace: 1, ID: 1}
	ben := edge.Holder{Kind: audit.Operator, Workspace: 1, ID: 1}
	open := func(in *edge.Streams, h edge.Holder) (*edge.Stream, error) {
		return in.Open(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), h, time.Second)
	}
	var all []*edge.Stream
	for _, c := range []struct {
		in      *edge.Streams
		of      edge.Holder
		refused string
	}{{one, ada, ""}, {one, ada, ""}, {one, ada, "for this key"}, {other, ada, ""}, {one, ben, ""},
		{one, ben, "at this gateway"}, {other, ben, ""}, {other, ada, ""}} {
		s, err := open(c.in, c.of)
		if room := c.in.Room(c.of); c.refused == "" && err != nil || c.refused != "" && (room == nil ||
			fault.CodeOf(err) != fault.RateLimited || !strings.Contains(err.Error(), c.refused) ||
			edge.ProblemOf(err).GetHeaders().Get("Retry-After") != "5") {
			t.Errorf("%+v: %v, room %v", c.of, err, room)
		}
		if s != nil {
			all = append(all, s)
		}
	}
	for _, s := range slices.Backward(all) {
		s.Close()
		s.Close() // once more takes no room from anyone
	}
	for range limits.PerHolder {
		if _, err := open(one, ada); err != nil {
			t.Error(err)
		}
	}
}
