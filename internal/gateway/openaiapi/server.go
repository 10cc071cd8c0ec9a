// Package openaiapi serves clients of OpenAI: models and chat completions. The key selects the workspace;
// a request is a turn of one of its conversations.
package openaiapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/inspect"
	"cairn/internal/service/replystream"
)

// Services holds the services behind the routes.
type Services struct {
	Completions *completion.Service
	Replies     *replystream.Reader
	// ReplyNews returns a channel that receives when a run has new text of its reply.
	ReplyNews  func(ref run.Ref) (news <-chan struct{}, stop func())
	Workspaces *inspect.Workspaces
	Turns      *inspect.Conversations
	// Start sends an accepted turn to its conversation.
	Start func(ctx context.Context, r conversation.Request, turn run.Run) error
	// Await returns a run's status when the run has ended or patience is over.
	Await func(ctx context.Context, ref run.Ref, patience time.Duration, look func() (run.Status, error)) (run.Status,
		error)
}

// Options configures the routes.
type Options struct {
	Models    []string // that requests may name besides the default, as cairn/<model>
	Origins   []string // of web pages that may call the routes; * allows all
	ToolNames func() []string
	TurnSpec  func() agentrun.Spec
	// TakesImages reports whether a model takes images.
	TakesImages func(model string) bool
	Started     time.Time // shown as the creation time of the models
}

// api holds the dependencies of all calls.
type api struct {
	Services
	options Options
	edge    *edge.Edge
	streams *edge.Streams
}

// call is one request.
type call struct {
	*api
	w    http.ResponseWriter
	r    *http.Request
	from access.Principal

	raw []byte // the body, once it is read
}
