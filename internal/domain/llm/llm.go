// Package llm is the port to chat models: requests, replies, failures, prices, and
// the JSON in what a model says. A call has two halves, so that the ledger can stand
// between them: Prepare renders the exact bytes of a request, Send sends such bytes.
// Retries belong to Temporal: a Send is one request.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Request is what a use-case asks of a model.
type Request struct {
	Model       string
	System      string     // instructions
	Messages    []Message  // what is asked and what followed, oldest first
	Schema      *Schema    // the JSON the reply must be; nil for free text
	Tools       []Tool     // what the model may call, sent in this order
	ToolChoice  ToolChoice // "" leaves it to the model; ignored without Tools
	MaxTokens   int        // 0 leaves it to the endpoint
	Temperature *float64   // 0 to 2, nil leaves it to the endpoint
	NoReasoning bool       // asks for an answer without reasoning before it; left out for endpoints that do not know it
	Label       Label
}

// Schema is a JSON Schema with a root object, every property required.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Label says what a call is for. It travels as X-Skill-Stage, X-Skill-Run,
// X-Skill-Task and X-Skill-File; models do not see it.
type Label struct {
	Stage string `json:"stage"`
	Run   string `json:"run,omitempty"`
	Task  string `json:"task,omitempty"`
	File  string `json:"file,omitempty"`
}

// PreparedRequest is a request ready to be stored and sent, byte for byte.
type PreparedRequest struct {
	Model string          `json:"model"`
	Body  json.RawMessage `json:"body"`
	Label Label           `json:"label"`
}

// Reply is a model's answer.
type Reply struct {
	Text string `json:"text"`
	// in the model's order, each with an id of its own; they may come despite ChooseNone
	Calls   []ToolCall `json:"calls,omitempty"`
	Refusal string     `json:"refusal,omitempty"` // the endpoint's refusal text, empty when it answered
	Finish  string     `json:"finish"`            // stop, length (calls may be cut off), tool_calls, content_filter
	Model   string     `json:"model"`             // as the endpoint names it
	Usage   Usage      `json:"usage"`
}

// Empty tells that the model said nothing, called nothing and refused nothing.
func (r Reply) Empty() bool {
	return strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.Refusal == ""
}

// Usage counts a call. Estimated is set when the endpoint did not count.
type Usage struct {
	Input     int  `json:"input"`  // tokens
	Output    int  `json:"output"` // tokens
	Estimated bool `json:"estimated,omitempty"`
}

// Model is one endpoint.
type Model interface {
	// Prepare renders r. The same r gives the same bytes.
	Prepare(r Request) (PreparedRequest, error)
	// Send makes one HTTP request. Its errors are *Error.
	Send(ctx context.Context, p PreparedRequest) (Reply, error)
}

// Class is what an endpoint's failure means for the caller.
type Class string

const (
	Retryable     Class = "retryable"      // 408, 409, 429, 5xx, timeouts, dropped connections
	Fatal         Class = "fatal"          // 400, 422, 404, 501 and other answers that will not change
	Auth          Class = "auth"           // 401, 402, 403, insufficient_quota
	ContextLength Class = "context_length" // shrink and send once more
	NoSchema      Class = "no_schema"      // the endpoint does not know response_format; send again without
	NoOption      Class = "no_option"      // the endpoint does not take tool_choice or temperature; send again without
)

// Error is a failed Send.
type Error struct {
	Class      Class
	Status     int           // HTTP status, 0 when no answer came
	RetryAfter time.Duration // the endpoint's wish, 0 when it had none
	Message    string
	Sent       bool  // whether the request may have reached the endpoint, and so may have been billed
	Cause      error // what the network reported, if anything
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives what the network reported, so that errors.Is finds
// context.Canceled when the caller gave up.
func (e *Error) Unwrap() error { return e.Cause }

// Fault is e as users see it.
func (e *Error) Fault() *fault.Error {
	var known *fault.Error
	switch {
	case errors.As(e.Cause, &known):
		return known
	case errors.Is(e.Cause, context.Canceled):
		return fault.New(fault.Cancelled, e.Message, "")
	}
	code := map[Class]fault.Code{
		Retryable:     fault.Unavailable,
		Fatal:         fault.ModelRejected,
		Auth:          fault.ModelAuth,
		ContextLength: fault.ModelContext,
		NoSchema:      fault.ModelRejected,
		NoOption:      fault.ModelRejected,
	}[e.Class]
	return fault.New(code, e.Message, "")
}
