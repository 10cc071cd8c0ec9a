package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/memory"
	"cairn/internal/service/apikey"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

type (
	// Soul is a version of how the user wants to be answered.
	Soul memory.Soul
	// SoulWritten is what became of a change of the soul.
	SoulWritten promptmemory.SoulResult
)

// SoulHistory are the versions of the soul, the latest first.
type SoulHistory struct {
	Versions []Soul `json:"versions"`
}

// SoulChange is how the user wants to be answered from now on.
type SoulChange struct {
	Content  string `json:"content" doc:"Tone, style, language, form of address; empty with replace forgets all of it"`
	Mode     string `json:"mode,omitempty" enum:"replace,append"`
	Expected *int   `json:"expected_version,omitempty" minimum:"0" doc:"Refuse unless this version is in force"`
}

// SoulRollback names a version to go back to; 0 said nothing.
type SoulRollback struct {
	Version  int  `json:"version" minimum:"0"`
	Expected *int `json:"expected_version,omitempty" minimum:"0" doc:"Refuse unless this version is in force"`
}

func (g *Gateway) soulRoutes() {
	const path = "/v1/soul"
	handle(g, route{method: http.MethodGet, path: path, id: "showSoul", tag: tagMemory, scope: apikey.Read,
		summary: "Show how the user wants to be answered", about: "Version 0 is none yet."}, g.showSoul)
	handle(g, route{method: http.MethodPut, path: path, id: "updateSoul", tag: tagMemory, scope: apikey.Write,
		bytes: smallBody, summary: "Change how the user wants to be answered",
		about: "It takes effect in the next session: within half an hour, unless CAIRN_SESSION_TTL says otherwise."},
		g.updateSoul)
	handle(g, route{method: http.MethodGet, path: path + "/history", id: "soulHistory", tag: tagMemory,
		scope: apikey.Read, summary: "List the versions of the soul, the latest first"}, g.soulHistory)
	handle(g, route{method: http.MethodPost, path: path + "/rollback", id: "rollbackSoul", tag: tagMemory,
		scope: apikey.Write, bytes: smallBody,
		summary: "Make a new version of the soul that says what an old one said"}, g.rollbackSoul)
}

func (g *Gateway) showSoul(ctx context.Context, _ *struct{}) (*bodyOf[Soul], error) {
	s, err := g.Memory.SoulGet(ctx, person(ctx, IdempotencyKey{}))
	return &bodyOf[Soul]{Soul(s)}, err
}

func (g *Gateway) updateSoul(ctx context.Context, in *struct {
	IdempotencyKey
	Body SoulChange
}) (*bodyOf[SoulWritten], error) {
	w, err := g.Memory.SoulUpdate(ctx, person(ctx, in.IdempotencyKey), promptmemory.SoulArgs(in.Body))
	return &bodyOf[SoulWritten]{SoulWritten(w)}, err
}

func (g *Gateway) soulHistory(ctx context.Context, in *struct {
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[SoulHistory], error) {
	versions, err := g.Memory.SoulHistory(ctx, person(ctx, IdempotencyKey{}), in.Limit)
	out := &bodyOf[SoulHistory]{SoulHistory{[]Soul{}}}
	for _, v := range versions {
		out.Body.Versions = append(out.Body.Versions, Soul(v))
	}
	return out, err
}

func (g *Gateway) rollbackSoul(ctx context.Context, in *struct {
	IdempotencyKey
	Body SoulRollback
}) (*bodyOf[SoulWritten], error) {
	w, err := g.Memory.SoulRollback(ctx, person(ctx, in.IdempotencyKey), memorywrite.RollbackArgs(in.Body))
	return &bodyOf[SoulWritten]{SoulWritten(w)}, err
}
