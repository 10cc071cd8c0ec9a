package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
)

// Problem is the one form of every error.
type Problem struct {
	Code      fault.Code `json:"code" doc:"What kind of failure it is; the list is internal/domain/fault's" example:"not_found"`
	Message   string     `json:"message" doc:"What happened, and to what"`
	Hint      string     `json:"hint" doc:"One concrete next step"`
	Retryable bool       `json:"retryable" doc:"Whether the same request can succeed later"`
	// Extra stands beside the other members: what a program needs for the next
	// step, such as the version in force or the closest lines.
	Extra map[string]any `json:"-"`
	_     struct{}       `additionalProperties:"true"`

	status int
	header http.Header
}

// MarshalJSON puts the extras beside the members that every problem has.
func (p *Problem) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	maps.Copy(out, p.Extra)
	out["code"], out["message"], out["hint"], out["retryable"] = p.Code, p.Message, p.Hint, p.Retryable
	return json.Marshal(out)
}

func problem(code fault.Code, message, hint string) *Problem {
	row := fault.Table[code]
	if hint == "" {
		hint = row.Hint
	}
	return &Problem{Code: code, Message: message, Hint: hint, Retryable: row.Retryable, status: row.HTTP}
}

// with adds a header to the answer.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

func (p *Problem) Error() string { return p.Message }

// GetStatus is the status that huma answers with.
func (p *Problem) GetStatus() int { return p.status }

// GetHeaders are the headers that huma answers with.
func (p *Problem) GetHeaders() http.Header { return p.header }

// write answers outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	for name := range p.header {
		w.Header().Set(name, p.header.Get(name))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p) // who does not read it has gone
}

// problemOf is err as it may be told. Of trouble inside only the code is told:
// its causes name hosts and rows, and are for the log.
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
		return problem(fault.Unavailable, "the request was not answered in time", "")
	}
	f := fault.From(err)
	if p = problem(f.Code, f.Message, f.Hint); p.status < http.StatusInternalServerError {
		p.Message, p.Extra = f.Error(), f.Extra
	}
	return p
}

func tooLong(limit int64) *Problem {
	return problem(fault.TooLarge, fmt.Sprintf("the request has more than %d bytes", limit),
		"send less at once; CAIRN_REQUEST_BYTES is the limit")
}

// huma makes all its errors through this one variable.
func init() { huma.NewError = fromHuma }

// fromHuma gives huma's own errors our form and our status.
func fromHuma(status int, message string, errs ...error) huma.StatusError {
	for _, err := range errs {
		var ours *fault.Error
		var known *Problem
		var tooLarge *http.MaxBytesError
		if errors.As(err, &ours) || errors.As(err, &known) || errors.As(err, &tooLarge) {
			return problemOf(err)
		}
		if detail, ok := err.(huma.ErrorDetailer); ok { // without the value: it may be the whole body
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
		return problem(fault.Unavailable, message, "send the body faster")
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return problem(fault.InvalidArgument, message,
			"correct it and send it again; /openapi.json describes the routes")
	}
	return problem(fault.Internal, "unexpected failure", "")
}
