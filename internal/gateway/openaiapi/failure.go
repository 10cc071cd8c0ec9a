package openaiapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// Types of OpenAI's errors.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// failure is an error in the form of OpenAI.
type failure struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"-"` // the member of the request, written as null if it is empty
	Code    string `json:"code"`

	Status int         `json:"-"`
	Header http.Header `json:"-"`
}

func (f *failure) Error() string { return f.Message }

// MarshalJSON writes the error object of a response.
func (f *failure) MarshalJSON() ([]byte, error) {
	type plain failure
	var param *string
	if f.Param != "" {
		param = &f.Param
	}
	return json.Marshal(map[string]any{"error": struct {
		*plain
		Param *string `json:"param"`
	}{(*plain)(f), param}})
}

// invalid returns the error of a member of the request.
func invalid(param, format string, args ...any) *failure {
	return &failure{Status: http.StatusBadRequest, Type: invalidRequest, Code: "invalid_value", Param: param,
		Message: fmt.Sprintf(format, args...)}
}

// unsupported returns the error of a member that Cairn does not support.
func unsupported(param, instead string) *failure {
	return &failure{Status: http.StatusBadRequest, Type: invalidRequest, Code: "unsupported_parameter", Param: param,
		Message: param + " is not supported; " + instead}
}

// fail writes an error as the response.
func (c *call) fail(doing string, err error) {
	f := c.failureOf(doing, err)
	maps.Copy(c.w.Header(), f.Header)
	edge.WriteJSON(c.w, f.Status, f)
}

// forms maps error codes to OpenAI's codes and types.
var forms = map[fault.Code]struct{ code, kind string }{
	fault.Unauthenticated: {"invalid_api_key", "authentication_error"},
	fault.OutOfScope:      {"insufficient_permissions", "permission_error"},
	fault.RateLimited:     {"rate_limit_exceeded", "rate_limit_error"},
	fault.QuotaExceeded:   {"insufficient_quota", "insufficient_quota"},
	fault.ModelContext:    {"context_length_exceeded", invalidRequest},
	fault.OpReused:        {"idempotency_key_reused", invalidRequest},
}

// failureOf converts an error. A conflict becomes 400, because OpenAI's clients send a request with the
// status 409 again.
func (c *call) failureOf(doing string, err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	p := c.edge.Refuse(c.r.Context(), "openai "+doing, err)
	form := forms[p.Code]
	f = &failure{Status: p.GetStatus(), Header: p.GetHeaders(), Code: cmp.Or(form.code, string(p.Code)),
		Type: form.kind, Message: p.Message}
	if p.Hint != "" {
		f.Message += ": " + p.Hint
	}
	switch {
	case f.Status == http.StatusConflict || p.Code == fault.ModelContext:
		f.Status = http.StatusBadRequest
	case p.Code == fault.QuotaExceeded:
		_ = f.again(false)
	}
	if f.Type == "" {
		if f.Type = invalidRequest; f.Status >= http.StatusInternalServerError {
			f.Type = serverError
		}
	}
	return f
}

// again states whether clients send the request again by themselves.
func (f *failure) again(yes bool) *failure {
	if f.Header = f.Header.Clone(); f.Header == nil {
		f.Header = http.Header{}
	}
	f.Header.Set("X-Should-Retry", fmt.Sprint(yes))
	return f
}

// ended returns the error of a turn without a reply of a model.
func (c *call) ended(reason agent.Reason, detail string) error {
	switch {
	case reason == agent.OverBudget:
		return &failure{Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
			Message: "the budget of the workspace for this day is spent: wait until tomorrow (UTC), or raise " +
				"tokens_per_day or micros_per_day with `cairn settings set`",
			Header: http.Header{"X-Should-Retry": {"false"}}}
	case reason == agent.ProviderError && fault.Code(detail) == fault.ModelContext:
		return &failure{Status: http.StatusBadRequest, Type: invalidRequest, Code: "context_length_exceeded",
			Param: "messages", Message: "the messages exceed the context window of the model: shorten them"}
	case reason == agent.ProviderError && slices.Contains(modelFaults, fault.Code(detail)):
		return fault.New(fault.Code(detail), "the model endpoint did not reply", "")
	case reason == agent.ProviderError || reason == agent.Lost:
		return (&failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: "model_unavailable",
			Message: "the model did not reply: send the request again later"}).again(false)
	}
	return nil
}

// isModelFault reports whether an error states that a turn has no reply of a model.
func isModelFault(err error) bool {
	return err != nil && slices.Contains(modelFaults, fault.CodeOf(err))
}

// modelFaults are failures of a model that a client cannot change by sending the request again.
var modelFaults = []fault.Code{fault.ModelAuth, fault.ModelRejected, fault.ModelRefused, fault.ModelInvalid}
