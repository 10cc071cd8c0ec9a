package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"

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

// NewProblem returns a Problem. An empty hint selects the hint of the code's table row.
func NewProblem(code fault.Code, message, hint string) *Problem {
	row := fault.Table[code]
	if hint == "" {
		hint = row.Hint
	}
	p := &Problem{Code: code, Message: fault.Clean(message), Hint: fault.Clean(hint), Retryable: row.Retryable,
		status: row.HTTP}
	if code == fault.Unavailable {
		_ = p.With("Retry-After", retryAfter)
	}
	return p
}

// With adds a header to the response.
func (p *Problem) With(name, value string) *Problem {
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

// Write sends the problem as the response.
func (p *Problem) Write(w http.ResponseWriter) { p.WriteAs(w, p.status, p) }

// WriteAs sends the problem in the form of another API. Its headers stay.
func (p *Problem) WriteAs(w http.ResponseWriter, status int, body any) {
	maps.Copy(w.Header(), p.header)
	WriteJSON(w, status, body)
}

// ProblemOf converts err for the caller. For an internal error it returns only the code,
// because the causes contain host names and rows. The log has them.
func ProblemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return TooLong(tooLarge.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return NewProblem(fault.Unavailable, "request timed out", "")
	}
	f := fault.From(err)
	p = NewProblem(f.Code, f.Message, f.Hint)
	if f.RetryAfter > 0 {
		_ = p.With("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if p.status < http.StatusInternalServerError {
		p.Message, p.Extra = fault.Clean(f.Error()), f.Extra
	}
	return p
}

// TooLong returns the problem of a body that exceeds a limit in bytes.
func TooLong(limit int64) *Problem {
	return NewProblem(fault.TooLarge, fmt.Sprintf("request body exceeds %d bytes", limit),
		"send a smaller body, or raise CAIRN_REQUEST_BYTES on the gateway")
}

// Refuse converts err for the caller, as ProblemOf does. Errors of the server (status 500 and above) are logged with
// what was being done.
func (e *Edge) Refuse(ctx context.Context, doing string, err error) *Problem {
	p := ProblemOf(err)
	if p.status >= http.StatusInternalServerError && p.Code != fault.NotImplemented && ctx.Err() == nil {
		e.Log.Error("request failed", "operation", doing, "code", p.Code, "error", err)
	}
	return p
}
