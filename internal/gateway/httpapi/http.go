package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"cairn/internal/domain/fault"
)

// bodyPatience is how long a client may take to send a request's body.
const bodyPatience = time.Minute

// ServeHTTP serves one request. It limits the body, records metrics, and gives responses
// that huma does not write the same form.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer := &answer{ResponseWriter: w}
	handler, pattern := g.mux.Handler(r)
	defer func() {
		cause := recover()
		begun := answer.status != 0
		if cause != nil && !isAbort(cause) {
			g.Log.Error("request panicked", "route", pattern, "cause", cause, "stack", string(debug.Stack()))
			if !begun {
				problem(fault.Internal, "unexpected failure", "").write(answer)
			}
		}
		g.meter.Request(pattern, answer.status, time.Since(began))
		if cause != nil && begun {
			panic(http.ErrAbortHandler) // a partial response must not look complete
		}
	}()
	answer.Header().Set("X-Content-Type-Options", "nosniff")
	if pattern == "" {
		unrouted(handler, r).write(answer)
		return
	}
	if pattern == loadPattern { // no size limit, but it must keep arriving
		r.Body = &flowing{r.Body, http.NewResponseController(w)}
		g.mux.ServeHTTP(answer, r)
		return
	}
	if r.ContentLength > g.Options.RequestBytes {
		tooLong(g.Options.RequestBytes).with("Connection", "close").write(answer)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		limited := http.MaxBytesReader(w, r.Body, g.Options.RequestBytes+1)
		r.Body = body(limited, http.NewResponseController(w))
	}
	g.mux.ServeHTTP(answer, r)
}

// unrouted converts the router's error into a Problem.
func unrouted(refuse http.Handler, r *http.Request) *Problem {
	was := &refusal{header: http.Header{}}
	refuse.ServeHTTP(was, r)
	if was.status == http.StatusMethodNotAllowed {
		return problem(
			fault.MethodNotAllowed,
			fmt.Sprintf("method %[2]s not allowed for %[1]s", r.URL.Path, r.Method),
			"",
		).
			with("Allow", was.header.Get("Allow"))
	}
	return problem(fault.NotFound, fmt.Sprintf("no route %s %s", r.Method, r.URL.Path),
		"see /openapi.json for the routes")
}

// refusal records the router's response to a request without a route.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) WriteHeader(status int)      { r.status = status }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }

// answer records the status of a response. Unwrap gives http.ResponseController access to
// the underlying writer.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// timed is a body with a read deadline. The deadline is removed at the end of the body:
// on a connection, a later deadline would cancel the request.
type timed struct {
	io.ReadCloser
	lift func()
}

func body(r io.ReadCloser, c *http.ResponseController) io.ReadCloser {
	_ = c.SetReadDeadline(time.Now().Add(bodyPatience)) // fails on connections without deadlines, which need no reset
	return &timed{r, func() { _ = c.SetReadDeadline(time.Time{}) }}
}

// flowing is a body of any length that must keep arriving.
type flowing struct {
	io.ReadCloser
	control *http.ResponseController
}

func (f *flowing) Read(p []byte) (int, error) {
	_ = f.control.SetReadDeadline(time.Now().Add(bodyPatience))
	n, err := f.ReadCloser.Read(p)
	if err != nil {
		_ = f.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err != nil {
		t.lift()
	}
	return n, err
}

// isAbort reports whether a handler aborted its response on purpose.
func isAbort(cause any) bool {
	err, ok := cause.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}
