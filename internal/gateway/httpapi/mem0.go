package httpapi

import "cairn/internal/gateway/mem0api"

// mem0Routes serves clients of mem0.
func (g *Gateway) mem0Routes() {
	s := mem0api.Services{Keys: g.Keys, Runs: g.Runs, Workspaces: g.Workspaces, Memory: g.Memory, LongTerm: g.LongTerm,
		Progressive: g.Progressive,
		Finder:      g.Finder, Embedder: g.Embedder}
	o := mem0api.Options{Root: g.Options.Mem0Compat == "root", Model: g.Options.Model, TurnSpec: g.Options.TurnSpec}
	mem0api.Mount(g.mux, s, o, foreign{g})
}
