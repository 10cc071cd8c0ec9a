package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Error is an error from Cairn, or from the client in the same form. Use errors.Is to
// compare codes and errors.As to read the hint.
type Error struct {
	Code      string         `json:"code"`      // stable code, such as not_found
	Message   string         `json:"message"`   // what failed
	Hint      string         `json:"hint"`      // how to fix the problem
	Retryable bool           `json:"retryable"` // the same request can succeed later
	Status    int            `json:"-"`         // HTTP status; 0 if there was no response
	Extra     map[string]any `json:"-"`         // additional members, such as the active version
	cause     error
}

// Error returns the message and the code.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s [%s]", e.Message, e.Code)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the underlying error, such as a network error, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Errors for errors.Is. The page docs/reference/errors.md lists all codes.
var (
	// ErrNotFound means that the object does not exist in the workspace.
	ErrNotFound = &Error{Code: "not_found"}
	// ErrInvalidArgument means that a value of the request is invalid.
	ErrInvalidArgument = &Error{Code: "invalid_argument"}
	// ErrVersionConflict means that the object has changed since it was read.
	ErrVersionConflict = &Error{Code: "version_conflict"}
	// ErrOpReused means that the ID belongs to a request with other content.
	ErrOpReused = &Error{Code: "op_reused"}
	// ErrOutOfScope means that the key does not permit the request.
	ErrOutOfScope = &Error{Code: "out_of_scope"}
	// ErrUnauthenticated means that the key is missing or invalid.
	ErrUnauthenticated = &Error{Code: "unauthenticated"}
	// ErrUnavailable means that Cairn did not respond, or cannot process requests now.
	ErrUnavailable = &Error{Code: "unavailable"}
	// ErrClosed is returned by calls after Close.
	ErrClosed = &Error{Code: "closed", Message: "client closed", Hint: "create a client with client.New"}
)

type request struct {
	method, path string
	body         any
	once         string // Idempotency-Key of a change
}

// send sends a request and retries retryable errors until ctx ends or retries are used up.
func (c *Client) send(ctx context.Context, r request, into any) error {
	var raw []byte
	if r.body != nil {
		var err error
		if raw, err = json.Marshal(r.body); err != nil {
			return &Error{Code: ErrInvalidArgument.Code, Message: "cannot encode the request", cause: err}
		}
	}
	for attempt := 0; ; attempt++ {
		if c.closed.Load() {
			return ErrClosed
		}
		wait, err := c.try(ctx, r, raw, into)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Retryable || attempt >= c.retries {
			return err
		}
		pause := time.NewTimer(max(wait, 100*time.Millisecond<<min(attempt, 5)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(err, ctx.Err())
		case <-pause.C:
		}
	}
}

// maxAnswer is the maximum size of a response, in bytes.
const maxAnswer = 64 << 20

func (c *Client) try(ctx context.Context, r request, raw []byte, into any) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, bytes.NewReader(raw))
	if err != nil {
		return 0, &Error{Code: ErrInvalidArgument.Code, Message: r.method + " " + r.path, cause: err}
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.once != "" {
		req.Header.Set("Idempotency-Key", r.once)
	}
	noResponse := func(err error) error {
		return &Error{Code: ErrUnavailable.Code, Message: fmt.Sprintf("no response to %s %s", r.method, r.path),
			Hint: "check that `cairn serve` is running at " + c.url, Retryable: ctx.Err() == nil, cause: err}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, noResponse(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, noResponse(err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, problem(res, answer)
	}
	if into == nil || len(answer) == 0 {
		return 0, nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return 0, &Error{Code: "internal", Message: "invalid response", Status: res.StatusCode, cause: err}
	}
	return 0, nil
}

func problem(res *http.Response, answer []byte) *Error {
	e := &Error{Status: res.StatusCode}
	if json.Unmarshal(answer, e) != nil || e.Code == "" { // the response is from a proxy, not from Cairn
		return &Error{Code: ErrUnavailable.Code, Message: res.Status, Status: res.StatusCode,
			Retryable: res.StatusCode >= http.StatusInternalServerError}
	}
	if json.Unmarshal(answer, &e.Extra) == nil {
		for _, known := range []string{"code", "message", "hint", "retryable"} {
			delete(e.Extra, known)
		}
	}
	return e
}

// inProcess serves requests with a handler in this process.
type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &held{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	p.ServeHTTP(answer, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Header: answer.header,
		Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()), Request: r}, nil
}

// held is a recorded response.
type held struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *held) Header() http.Header         { return h.header }
func (h *held) WriteHeader(status int)      { h.status = status }
func (h *held) Flush()                      {}
func (h *held) Write(p []byte) (int, error) { return h.body.Write(p) }
