package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Run is one execution of a kind of work, such as a turn.
type Run struct {
	ID           string     `json:"run"`
	Kind         string     `json:"kind"` // such as turn, review, reflection or distill
	Conversation string     `json:"conversation_id"`
	Status       string     `json:"status"`  // accepted, running or ended
	Outcome      string     `json:"outcome"` // empty until the end
	Reason       string     `json:"reason"`
	Models       string     `json:"models"` // separated by commas
	Calls        int64      `json:"calls"`
	Tokens       int64      `json:"tokens"`
	CostMicros   *int64     `json:"cost_micros"` // micro-dollars of calls with a known price; nil if no call has one
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at"`
}

// RunFilter selects runs. Empty fields select all.
type RunFilter struct {
	Kind, Status, Outcome, Conversation, Model string
}

// Runs lists runs, the latest first. The iterator requests more of them as it needs them, and ends after an error.
func (c *Client) Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error] {
	return list[Run](ctx, c, "/v1/runs", "runs", query("kind", f.Kind, "status", f.Status, "outcome", f.Outcome,
		"conversation", f.Conversation, "model", f.Model))
}

// Timeline is what a run did.
type Timeline struct {
	From      time.Time    `json:"from"`
	To        *time.Time   `json:"to"` // nil if it is not known
	Spans     []Span       `json:"spans"`
	ToolCalls []StepAction `json:"tool_calls"`
}

// Span is a model call, a tool call or a child run.
type Span struct {
	Kind       string     `json:"kind"` // model, tool or run
	Name       string     `json:"name"` // of a model call: its step, for [Client.ModelCall]
	Round      int        `json:"round"`
	State      string     `json:"state"`
	Detail     string     `json:"detail"`
	Retries    int        `json:"retries"`
	Unknown    int        `json:"unknown"` // requests that got no reply and may be paid
	Tokens     int64      `json:"tokens"`
	CostMicros *int64     `json:"cost_micros"` // micro-dollars; nil without a known price
	From       time.Time  `json:"from"`
	To         *time.Time `json:"to"` // nil if it is not known
}

// StepAction is a tool call of an agent.
type StepAction struct {
	Step      int        `json:"step"`
	Position  int        `json:"position"` // in the step
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments"`
	Result    string     `json:"result"`
	Code      string     `json:"code"` // error code, empty on success
	BegunAt   time.Time  `json:"begun_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// RunTimeline returns the model calls, tool calls and child runs of a run with their times.
func (c *Client) RunTimeline(ctx context.Context, run string) (out Timeline, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(run)+"/timeline", nil, &out, "")
	return out, err
}

// ModelCall is a model call with its request and reply.
type ModelCall struct {
	Step     string        `json:"step"`
	Round    int           `json:"round"`
	State    string        `json:"state"`
	Model    string        `json:"model"`
	Earlier  int           `json:"earlier_messages"` // before Messages; the round before has them, too
	Messages []CallMessage `json:"messages"`
	Tools    []string      `json:"tools"` // names of the tools that the request offers
	Reply    *CallMessage  `json:"reply"`
	Rejected bool          `json:"rejected"` // the reply was invalid, and the next round says why
	Error    string        `json:"error"`
}

// CallMessage is a message of a request to a model, or the reply.
type CallMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

// ModelCall returns a model call of a run. Round 0 is the first request of a step, and each repair is one more. Secrets
// are replaced with placeholders, unless unmasked is set, which needs the scope admin and is recorded in the audit log.
func (c *Client) ModelCall(ctx context.Context, run, step string, round int, unmasked bool) (out ModelCall, err error) {
	q := query("step", step, "round", fmt.Sprint(round))
	if unmasked {
		q.Set("unmasked", "true")
	}
	err = c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(run)+"/call?"+q.Encode(), nil, &out, "")
	return out, err
}

// CancelRun asks an open run to end. It returns false if the run has ended.
func (c *Client) CancelRun(ctx context.Context, id string) (asked bool, err error) {
	var out struct {
		Requested bool `json:"requested"`
	}
	err = c.call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(id)+"/cancel", nil, &out, rand.Text())
	return out.Requested, err
}

// Usage is what a model did for one kind of run on one local day of the workspace.
type Usage struct {
	Day           string `json:"day"` // such as 2026-03-01
	Model         string `json:"model"`
	Kind          string `json:"kind"` // of the runs
	Calls         int64  `json:"calls"`
	FailedCalls   int64  `json:"failed_calls"`
	UnpricedCalls int64  `json:"unpriced_calls"` // whose price is not known
	InputTokens   int64  `json:"input_tokens"`   // including cached tokens
	CachedTokens  int64  `json:"cached_tokens"`
	OutputTokens  int64  `json:"output_tokens"`
	CostMicros    int64  `json:"cost_micros"` // micro-dollars of the calls with a known price
}

// Usage returns the usage of days such as 2026-03-01, both included, the latest first. By default, they are the 30 days
// that end today.
func (c *Client) Usage(ctx context.Context, from, to string) ([]Usage, error) {
	var out struct {
		Usage []Usage `json:"usage"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/usage?"+query("from", from, "to", to).Encode(), nil, &out, "")
	return out.Usage, err
}

// OutboxTask is stored work that waits for delivery.
type OutboxTask struct {
	ID          int64      `json:"id"`
	Kind        string     `json:"kind"`
	Key         string     `json:"key"` // what it is about
	Attempts    int        `json:"attempts"`
	Failures    int        `json:"failures"` // attempts in a row that failed
	Error       string     `json:"error"`    // of the last failure
	CreatedAt   time.Time  `json:"created_at"`
	DueAt       time.Time  `json:"due_at"`
	FailedSince *time.Time `json:"failed_since"`
}

// Outbox lists stored work that waits for delivery, what fails first. See [Client.Runs] for the iterator.
func (c *Client) Outbox(ctx context.Context) iter.Seq2[OutboxTask, error] {
	return list[OutboxTask](ctx, c, "/v1/outbox", "tasks", nil)
}

// RetryOutboxTask tries a task of the outbox now.
func (c *Client) RetryOutboxTask(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodPost, fmt.Sprintf("/v1/outbox/%d/retry", id), nil, nil, rand.Text())
}
