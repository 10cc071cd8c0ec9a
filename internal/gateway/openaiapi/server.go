// Package openaiapi serves clients of OpenAI: models and chat completions. The key selects the workspace;
// a request is a turn of one of its conversations.
package openaiapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/gateway/door"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
)

// Services holds the services behind the routes.
type Services struct {
	Completions *completion.Service
	Replies     *replystream.Reader
	// ReplyNews returns a channel that receives when a run has new text of its reply.
	ReplyNews  func(ref run.Ref) (news <-chan struct{}, stop func())
	Workspaces Workspaces
	Turns      Turns
}

// Workspaces reads the settings of workspaces.
type Workspaces interface {
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
}

// Turns cancels turns.
type Turns interface {
	Cancel(ctx context.Context, ws tenancy.Workspace, conversation, message string) (bool, error)
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

// Door gives access to what the gateway does for requests of all clients.
type Door interface {
	// Authorize authenticates a request and checks the scope of its key.
	Authorize(r *http.Request, scope access.Scope) (access.Principal, error)
	// ActFor returns the principal of the key of a gateway for a user whom the body of a request names.
	ActFor(r *http.Request, person string) (access.Principal, error)
	// Refuse converts an error into a response.
	Refuse(ctx context.Context, doing string, err error) door.Refusal
	// Start sends an accepted turn to its conversation. The relay sends what it could not.
	Start(ctx context.Context, r conversation.Request, turn run.Run) error
	// Await returns a run's status when the run has ended or patience is over.
	Await(ctx context.Context, ref run.Ref, patience time.Duration, look func() (run.Status, error)) (run.Status, error)
	// OpenStream counts an event stream until the returned function is called.
	OpenStream(from access.Principal) (ended func(), err error)
	// Closing returns a channel that is closed when the gateway stops.
	Closing() <-chan struct{}
}

// api holds the dependencies of all calls.
type api struct {
	Services
	options Options
	door    Door
}

// call is one request.
type call struct {
	*api
	w    http.ResponseWriter
	r    *http.Request
	from access.Principal
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a write error means that the client has disconnected
}
