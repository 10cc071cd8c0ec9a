package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/door"
	"cairn/internal/gateway/openaiapi"
	"cairn/internal/service/conversation"
)

// openAIRoutes serves clients of OpenAI.
func (g *Gateway) openAIRoutes() {
	s := openaiapi.Services{Completions: g.Completions, Replies: g.Replies, ReplyNews: g.ReplyNews,
		Workspaces: g.Workspaces, Turns: g.Conversations}
	o := openaiapi.Options{Models: g.Options.APIModels, Origins: g.Options.APIOrigins, ToolNames: g.Options.ToolNames,
		TurnSpec: g.Options.TurnSpec, TakesImages: g.Options.TakesImages, Started: time.Now()}
	openaiapi.Mount(g.mux, s, o, foreign{g})
}

// foreign serves requests of clients of other APIs like all others.
type foreign struct{ g *Gateway }

func (f foreign) Authorize(r *http.Request, scope access.Scope) (access.Principal, error) {
	from, refused := f.g.authorizeAny(r, scope)
	if refused != nil {
		return from, refused
	}
	return from, nil
}

// ActFor returns the principal of the key of a gateway for a user whom the body of a request names.
func (f foreign) ActFor(r *http.Request, person string) (access.Principal, error) {
	return f.g.principal(r.Context(), bearerKey(r), person)
}

func (f foreign) Refuse(ctx context.Context, doing string, err error) door.Refusal {
	p := f.g.problemFrom(ctx, doing, err)
	return door.Refusal{Status: p.status, Header: p.header, Code: p.Code, Message: p.Message, Hint: p.Hint}
}

func (f foreign) Await(ctx context.Context, ref run.Ref, patience time.Duration,
	look func() (run.Status, error)) (run.Status, error) {
	return f.g.await(ctx, ref, patience, nil, look)
}

func (f foreign) Operation(chosen string) string { return operation("key", chosen) }

func (f foreign) Link(format string, args ...any) string { return f.g.link(format, args...) }

func (f foreign) Start(ctx context.Context, r conversation.Request, turn run.Run) error {
	if turn.Kind == run.Completion {
		f.g.start(ctx, r.WorkspaceKey, turn)
		return nil
	}
	return f.g.answer(ctx, r, turn, 0)
}

func (f foreign) OpenStream(from access.Principal) (ended func(), err error) {
	ended, refused := f.g.streams.open(from, chatsPerKey)
	if refused != nil {
		return nil, refused
	}
	return ended, nil
}

func (f foreign) Closing() <-chan struct{} { return f.g.closing.Done() }
