// Package llm is the port to chat models. It defines requests, replies, errors and prices, and
// extracts the JSON from replies. A call has two parts, so that the ledger can store it between
// them: Prepare renders the exact bytes of a request, and Send sends them. Send makes one request;
// Temporal retries it.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Request is a request to a model.
type Request struct {
	Model    string
	System   string    // instructions
	Messages []Message // oldest first
	Schema   *Schema   // JSON Schema of the reply; nil for free text
	// JSON asks for a JSON object whose schema the messages state. Endpoints put a Schema before the system
	// message, so that requests with different schemas have no common prefix.
	JSON bool
	// CacheKey names the Prefix of the first message, so that an endpoint sends requests with it to the same
	// cache. Without it, the prefix is not marked.
	CacheKey    string
	Tools       []Tool     // tools that the model may call, in this order
	ToolChoice  ToolChoice // "" means the model decides; ignored without Tools
	MaxTokens   int        // 0 means the endpoint's default
	Temperature *float64   // 0 to 2; nil means the endpoint's default
	Sampling    Sampling   // further options of the caller
	// NoReasoning asks for a reply without reasoning. It is not sent to endpoints without this
	// option.
	NoReasoning bool
	// Stream asks for the reply in parts as the model writes it, see Streamer.
	Stream bool
	// Constant reports that System and Schema contain nothing of a conversation, so that the ledger stores them
	// once in a workspace.
	Constant bool
	Audio    *Audio // recording to transcribe, for endpoints of transcription; they ignore the messages
	Label    Label
}

// Sampling holds options of OpenAI's chat completions that are passed on unchanged. Zero values are not
// sent.
type Sampling struct {
	TopP             *float64        `json:"top_p,omitempty"`             // 0 to 1
	FrequencyPenalty *float64        `json:"frequency_penalty,omitempty"` // -2 to 2
	PresencePenalty  *float64        `json:"presence_penalty,omitempty"`  // -2 to 2
	Seed             *int64          `json:"seed,omitempty"`
	Stop             []string        `json:"stop,omitempty"` // at most 4
	ReasoningEffort  string          `json:"reasoning_effort,omitempty"`
	ParallelCalls    *bool           `json:"parallel_tool_calls,omitempty"`
	Format           json.RawMessage `json:"response_format,omitempty"` // ignored if the request has a Schema
}

// Schema is a JSON Schema with a root object in which every property is required.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Label describes the purpose of a call. It is sent in the headers X-Skill-Stage, X-Skill-Run,
// X-Skill-Task and X-Skill-File, which models do not see.
type Label struct {
	Stage string `json:"stage"`
	Run   string `json:"run,omitempty"`
	Task  string `json:"task,omitempty"`
	File  string `json:"file,omitempty"`
}

// PreparedRequest holds the exact bytes of a request, to store and to send.
type PreparedRequest struct {
	Model string          `json:"model"`
	Body  json.RawMessage `json:"body"`
	Label Label           `json:"label"`
	// Constant is that of the request.
	Constant bool `json:"-"`
	// Files reads the files that Body names instead of containing them. It is set when the request is sent.
	Files Files `json:"-"`
}

// Reply is a model's reply.
type Reply struct {
	Text string `json:"text"`
	// Calls are in the model's order, each with a unique ID. A model may return calls despite
	// ChooseNone.
	Calls   []ToolCall `json:"calls,omitempty"`
	Refusal string     `json:"refusal,omitempty"` // the endpoint's refusal text, or empty
	Finish  string     `json:"finish"`            // stop, length (calls may be truncated), tool_calls or content_filter
	Model   string     `json:"model"`             // as the endpoint names it
	Usage   Usage      `json:"usage"`
}

// Truncated reports whether the reply ended at its limit of tokens.
func (r Reply) Truncated() bool { return r.Finish == "length" && r.Refusal == "" }

// Empty reports whether the reply has no text, no calls and no refusal.
func (r Reply) Empty() bool {
	return strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.Refusal == ""
}

// MaxCallTokens is the highest token usage of a call that is taken from an endpoint. Beyond it, usage is
// estimated.
const MaxCallTokens = 100_000_000

// Usage is the token usage of a call. Estimated is true if the endpoint did not report it,
// or reported an impossible number.
type Usage struct {
	Input     int  `json:"input"`             // tokens, with those of a cache
	Output    int  `json:"output"`            // tokens
	Cached    int  `json:"cached,omitempty"`  // part of Input that was read from a cache
	Written   int  `json:"written,omitempty"` // part of Input that was written to a cache
	Estimated bool `json:"estimated,omitempty"`
}

// Plausible returns u with the numbers of a cache within Input.
func (u Usage) Plausible() Usage {
	u.Cached = min(max(u.Cached, 0), u.Input)
	u.Written = min(max(u.Written, 0), u.Input-u.Cached)
	return u
}

// Model is one model endpoint.
type Model interface {
	// Prepare renders r. Equal requests give equal bytes.
	Prepare(r Request) (PreparedRequest, error)
	// Send makes one HTTP request. Its errors are of type *Error.
	Send(ctx context.Context, p PreparedRequest) (Reply, error)
}

// Streamer is a Model that can return a reply in parts.
type Streamer interface {
	Model
	// Stream is Send. For a request with Stream, it calls emit with each part of the reply's text as it
	// arrives, in order. The parts of a failed call are not a reply. An endpoint that ignores Stream
	// gives one part.
	Stream(ctx context.Context, p PreparedRequest, emit func(text string)) (Reply, error)
}

// Class is how a caller handles an endpoint's failure.
type Class string

const (
	Retryable     Class = "retryable"      // 408, 409, 429, 5xx, timeouts, dropped connections
	Fatal         Class = "fatal"          // 400, 404, 422, 501 and other permanent failures
	Auth          Class = "auth"           // 401, 402, 403 and exhausted quotas
	Invalid       Class = "invalid"        // a reply that is larger than allowed
	ContextLength Class = "context_length" // shorten the request and send it once more
	NoSchema      Class = "no_schema"      // the endpoint does not support response_format; send again without it
	NoOption      Class = "no_option"      // as NoSchema, for tool_choice, temperature, reasoning_effort or stream
)

// Error is the error of a Send.
type Error struct {
	Class      Class
	Status     int           // HTTP status, 0 without a response
	RetryAfter time.Duration // the endpoint's Retry-After, 0 without one
	Message    string        // may quote the endpoint; see Conceal
	Sent       bool          // the request may have reached the endpoint, and may have been billed
	Cause      error         // the network error, if any
	Host       string        // of the endpoint; may be empty
	Role       string        // of the call, such as extract; set by the ledger
	NoModel    bool          // the endpoint does not have the model of the request
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the network error, so that errors.Is finds context.Canceled if the caller canceled
// the call.
func (e *Error) Unwrap() error { return e.Cause }

// host returns a name of the endpoint.
func (e *Error) host() string { return cmp.Or(e.Host, "the model endpoint") }

// Conceal returns e with a message for tenants: the kind of failure, the role, the configured host and id,
// under which the operators' log has Message. The text of an endpoint can contain keys, organization IDs and
// other host names.
func (e *Error) Conceal(id string) *Error {
	if errors.Is(e.Cause, context.Canceled) {
		return e
	}
	out := *e
	status := "no response"
	if e.Status > 0 {
		status = fmt.Sprintf("status %d", e.Status)
	}
	out.Message = fmt.Sprintf("the model call failed: %s, %s, error ID %s", e.Class, status, id)
	switch {
	case e.Class == Auth:
		out.Message = fmt.Sprintf("%s rejected the key or the quota of role %s: %s, %s, error ID %s", e.host(), e.Role,
			e.Class, status, id)
	case e.NoModel:
		out.Message = fmt.Sprintf(
			"%s does not have the model of role %s: %s, %s, error ID %s",
			e.host(),
			e.Role,
			e.Class,
			status,
			id,
		)
	case e.Class == Retryable && e.Status > 0:
		out.Message = fmt.Sprintf("%s is not available: %s, %s, error ID %s", e.host(), e.Class, status, id)
	}
	out.Cause = nil
	var known *fault.Error
	if errors.As(e.Cause, &known) {
		out.Cause = fault.New(known.Code, out.Message, "")
	}
	return &out
}

// Fault converts e to the error that users see.
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
		Invalid:       fault.ModelInvalid,
		ContextLength: fault.ModelContext,
		NoSchema:      fault.ModelRejected,
		NoOption:      fault.ModelRejected,
	}[e.Class]
	return fault.New(code, e.Message, e.hint())
}

// hint names the setting that is wrong. It is empty for failures without one.
func (e *Error) hint() string {
	switch {
	case e.Class == Auth:
		return fmt.Sprintf(
			"set OPENAI_API_KEY of the worker to a key with credit at %s, then run `cairn runs retry`",
			e.host(),
		)
	case e.NoModel:
		return fmt.Sprintf("set the model of role %s, for example with CAIRN_MODEL, to one that %s has, then run "+
			"`cairn runs retry --fresh`", cmp.Or(e.Role, "chat"), e.host())
	}
	return ""
}

// OfflineModel is the name of the model of fixed rules, which serves a workspace without an endpoint.
const OfflineModel = "offline-rules"
