package httpapi

import (
	"context"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/gateway/mem0api"
	"cairn/internal/gateway/openaiapi"
	"cairn/internal/service/conversation"
)

// mem0Routes serves clients of mem0.
func (g *Gateway) mem0Routes() {
	s := mem0api.Services{Keys: g.Keys, Runs: g.Runs, Workspaces: g.Workspaces, Memory: g.Memory, LongTerm: g.LongTerm,
		Progressive: g.Progressive, Finder: g.Finder, Embedder: g.Embedder, Await: g.awaitRun}
	o := mem0api.Options{Root: g.Options.Mem0Compat == "root", Model: g.Options.Model, TurnSpec: g.Options.TurnSpec,
		BaseURL: g.link("")}
	mem0api.Mount(g.mux, s, o, g.Edge)
}

// openAIRoutes serves clients of OpenAI.
func (g *Gateway) openAIRoutes() {
	s := openaiapi.Services{Completions: g.Completions, Replies: g.Replies, ReplyNews: g.ReplyNews,
		Workspaces: g.Workspaces, Turns: g.Conversations, Start: g.startTurn, Await: g.awaitRun}
	o := openaiapi.Options{Models: g.Options.APIModels, Origins: g.Options.APIOrigins, ToolNames: g.Options.ToolNames,
		TurnSpec: g.Options.TurnSpec, TakesImages: g.Options.TakesImages, Started: time.Now()}
	openaiapi.Mount(g.mux, s, o, g.Edge)
}

// awaitRun returns a run's status when the run has ended or patience is over.
func (g *Gateway) awaitRun(ctx context.Context, ref run.Ref, patience time.Duration,
	look func() (run.Status, error)) (run.Status, error) {
	return g.await(ctx, ref, patience, nil, look)
}

// startTurn sends an accepted turn to its conversation. The relay sends what it could not.
func (g *Gateway) startTurn(ctx context.Context, r conversation.Request, turn run.Run) error {
	if turn.Kind == run.Completion {
		g.Start(ctx, r.WorkspaceKey, turn)
		return nil
	}
	return g.answer(ctx, r, turn, 0)
}
