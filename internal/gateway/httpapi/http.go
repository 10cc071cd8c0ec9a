package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// ServeHTTP serves one request. It limits the body, records metrics, and gives responses
// that huma does not write the same form.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.serve(g.mux, w, r) }

func (g *Gateway) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer := &answer{ResponseWriter: w, unread: newBody(w, r, g.Options.BodyIdle)}
	handler, pattern := mux.Handler(r)
	defer func() {
		cause := recover()
		begun := answer.status != 0
		if cause != nil && !isAbort(cause) {
			g.Log.Error("request panicked", "route", pattern, "cause", cause, "stack", string(debug.Stack()))
			if !begun {
				edge.NewProblem(fault.Internal, "unexpected failure", "").Write(answer)
			}
		}
		g.meter.Request(pattern, answer.status, time.Since(began))
		if cause != nil && begun {
			panic(http.ErrAbortHandler) // a partial response must not look complete
		}
	}()
	answer.Header().Set("X-Content-Type-Options", "nosniff")
	id := requestID(r)
	answer.Header().Set(requestHeader, id)
	r = r.WithContext(audit.With(r.Context(), audit.Actor{Kind: audit.System, Request: id,
		Address: g.Edge.Address(r).String()}))
	if pattern == "" {
		unrouted(handler, r).Write(answer)
		return
	}
	if pattern != loadPattern && r.ContentLength > g.Options.RequestBytes {
		edge.TooLong(g.Options.RequestBytes).Write(answer)
		return
	}
	if answer.unread != nil {
		r.Body = answer.unread
		if pattern != loadPattern { // a load has no size limit, but it must keep arriving
			answer.unread.limit(w, g.Options.RequestBytes+1, maxValues(pattern))
		}
	}
	mux.ServeHTTP(answer, r)
}

// files are the routes whose bodies need not be JSON. Their readers count what a body has.
var files = []string{"POST /v1/imports", "POST /v1/otlp/v1/traces", "POST /v1/skills/upload"}

// maxValues is the maximum number of JSON values in a body.
func maxValues(pattern string) int {
	if slices.Contains(files, pattern) || strings.Contains(pattern, consolePath) {
		return math.MaxInt
	}
	return decoding.MaxValues
}

const requestHeader = "X-Request-Id"

var requestForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID returns the ID that the client or a proxy gave to the request, else a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get(requestHeader); requestForm.MatchString(id) {
		return id
	}
	return rand.Text()
}

// unrouted converts the router's error into a Problem.
func unrouted(refuse http.Handler, r *http.Request) *edge.Problem {
	was := &refusal{header: http.Header{}}
	refuse.ServeHTTP(was, r)
	if was.status == http.StatusMethodNotAllowed {
		return edge.NewProblem(fault.MethodNotAllowed,
			fmt.Sprintf("method %[2]s not allowed for %[1]s", r.URL.Path, r.Method), "").
			With("Allow", was.header.Get("Allow"))
	}
	return noRoute(r)
}

func noRoute(r *http.Request) *edge.Problem {
	return edge.NewProblem(fault.NotFound, fmt.Sprintf("no route %s %s", r.Method, r.URL.Path),
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
	unread *body // of the request; nil if it has none
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		if status >= http.StatusBadRequest && a.unread.abandon() {
			a.Header().Set("Connection", "close")
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// isAbort reports whether a handler aborted its response on purpose.
func isAbort(cause any) bool {
	err, ok := cause.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}
