package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/gateway/mem0api"
	"cairn/internal/service/apikey"
)

// mem0Routes serves clients of mem0.
func (g *Gateway) mem0Routes() {
	s := mem0api.Services{Keys: g.Keys, Runs: g.Runs, Workspaces: g.Workspaces, Memory: g.Memory, LongTerm: g.LongTerm,
		Progressive: g.Progressive,
		Finder:      g.Finder, Embedder: g.Embedder}
	o := mem0api.Options{Root: g.Options.Mem0Compat == "root", Model: g.Options.Model, TurnSpec: g.Options.TurnSpec}
	mem0api.Mount(g.mux, s, o, door{g})
}

// door authenticates requests of mem0 clients like all others.
type door struct{ g *Gateway }

func (d door) Authorize(r *http.Request, scope apikey.Scope) (apikey.Principal, error) {
	from, refused := d.g.authorize(r, scope)
	if refused != nil {
		return from, refused
	}
	return from, nil
}

func (d door) Refuse(ctx context.Context, doing string, err error) mem0api.Refusal {
	p := d.g.problemFrom(ctx, doing, err)
	return mem0api.Refusal{Status: p.status, Header: p.header, Code: p.Code, Message: p.Message, Hint: p.Hint}
}

func (d door) Await(ctx context.Context, ref run.Ref, patience time.Duration,
	look func() (run.Status, error)) (run.Status, error) {
	return d.g.await(ctx, ref, patience, nil, look)
}

func (d door) Operation(chosen string) string { return operation("key", chosen) }

func (d door) Link(format string, args ...any) string { return d.g.link(format, args...) }
