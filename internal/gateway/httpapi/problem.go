package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
)

// Problem is the JSON form of every error.
type Problem struct {
	Code      fault.Code `json:"code" doc:"Stable error code" example:"not_found"`
	Message   string     `json:"message" doc:"What failed, and the value that caused it"`
	Hint      string     `json:"hint" doc:"How to fix the problem"`
	Retryable bool       `json:"retryable" doc:"Whether the same request can succeed later"`
	// Extra holds additional members for the next step, such as the active version or the
	// closest lines. MarshalJSON writes them at the top level.
	Extra map[string]any `json:"-"`
	_     struct{}       `additionalProperties:"true"`

	status int
	header http.Header
}

// MarshalJSON adds the members of Extra to the standard ones.
func (p *Problem) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	maps.Copy(out, p.Extra)
	out["code"], out["message"], out["hint"], out["retryable"] = p.Code, p.Message, p.Hint, p.Retryable
	return json.Marshal(out)
}

// retryAfter is the number of seconds after which a client should repeat an unavailable request. A
// failover of Postgres takes longer, and a restart of a gateway less.
const retryAfter = "2"

func problem(code fault.Code, message, hint string) *Problem {
	row := fault.Table[code]
	if hint == "" {
		hint = row.Hint
	}
	p := &Problem{
		Code:      code,
		Message:   fault.Clean(message),
		Hint:      fault.Clean(hint),
		Retryable: row.Retryable,
		status:    row.HTTP,
	}
	if code == fault.Unavailable {
		p.with("Retry-After", retryAfter)
	}
	return p
}

// with adds a header to the response.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

func (p *Problem) Error() string { return p.Message }

// GetStatus returns the status of the response. Huma calls it.
func (p *Problem) GetStatus() int { return p.status }

// GetHeaders returns the headers of the response. Huma calls it.
func (p *Problem) GetHeaders() http.Header { return p.header }

// write sends the problem without huma.
func (p *Problem) write(w http.ResponseWriter) {
	for name := range p.header {
		w.Header().Set(name, p.header.Get(name))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p) // a write error means that the client has disconnected
}

// problemOf converts err for the caller. For an internal error it returns only the code,
// because the causes contain host names and rows. The log has them.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return tooLong(tooLarge.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return problem(fault.Unavailable, "request timed out", "")
	}
	f := fault.From(err)
	p = problem(f.Code, f.Message, f.Hint)
	if f.RetryAfter > 0 {
		p.with("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if p.status < http.StatusInternalServerError {
		p.Message, p.Extra = fault.Clean(f.Error()), f.Extra
	}
	return p
}

func tooLong(limit int64) *Problem {
	return problem(fault.TooLarge, fmt.Sprintf("request body exceeds %d bytes", limit),
		"send a smaller body, or raise CAIRN_REQUEST_BYTES on the gateway")
}

// Huma creates all its errors through the variable NewError.
func init() { huma.NewError = fromHuma }

// listed is the maximum number of violations that a message lists. A body may have one for each of its values.
const listed = 20

// fromHuma converts an error of huma into a Problem with Cairn's status.
func fromHuma(status int, message string, errs ...error) huma.StatusError {
	for _, err := range errs[:min(len(errs), listed)] {
		var coded *fault.Error
		var known *Problem
		var tooLarge *http.MaxBytesError
		if errors.As(err, &coded) || errors.As(err, &known) || errors.As(err, &tooLarge) {
			return problemOf(err)
		}
		if detail, ok := err.(huma.ErrorDetailer); ok { // omits the value, which may be the whole body
			d := detail.ErrorDetail()
			message += "; " + strings.TrimPrefix(d.Location+": "+d.Message, ": ")
		}
	}
	switch {
	case status == http.StatusNotFound:
		return problem(fault.NotFound, message, "")
	case status == http.StatusRequestEntityTooLarge:
		return problem(fault.TooLarge, message, "")
	case status == http.StatusRequestTimeout:
		return problem(fault.RequestTimeout, message, "")
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return problem(fault.InvalidArgument, message, requestHint(message))
	}
	return problem(fault.Internal, "unexpected failure", "")
}

// requestHint shows how to correct a request that huma rejects with message.
func requestHint(message string) string {
	for _, c := range []struct{ part, hint string }{
		{"unknown content type", "add the header Content-Type: application/json"},
		{"unknown query parameter", "correct the name; docs/reference/http.md lists the parameters of each route"},
		{"invalid character", "send valid JSON: check its quotes, commas and brackets"},
		{"unexpected end of JSON", "send the complete JSON body"},
	} {
		if strings.Contains(message, c.part) {
			return c.hint
		}
	}
	return "correct the request; see /openapi.json for the schema"
}
