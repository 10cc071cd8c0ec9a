package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

type (
	// Soul is a version of the user's reply preferences.
	Soul memory.Soul
	// SoulWritten is the result of a change of the soul.
	SoulWritten memories.SoulResult
)

// SoulHistory holds the versions of the soul, the latest first.
type SoulHistory struct {
	Versions []Soul `json:"versions"`
}

// SoulChange is a change of the user's reply preferences.
type SoulChange struct {
	Content  string `json:"content" doc:"Tone, style, language, form of address; empty with replace clears the soul"`
	Mode     string `json:"mode,omitempty" enum:"replace,append"`
	Expected *int   `json:"expected_version,omitempty" minimum:"0" maximum:"2147483647" doc:"Fail unless this version is active"`
}

// SoulRollback names the version to restore; version 0 is the empty soul.
type SoulRollback struct {
	Version  int  `json:"version" minimum:"0" maximum:"2147483647"`
	Expected *int `json:"expected_version,omitempty" minimum:"0" maximum:"2147483647" doc:"Fail unless this version is active"`
}

func (g *Gateway) soulRoutes() {
	const path = "/v1/soul"
	handle(g, route{
		method:  http.MethodGet,
		path:    path,
		id:      "showSoul",
		tag:     tagMemory,
		scope:   access.Read,
		summary: "Get the soul (the user's reply preferences)",
		about:   "Version 0 means that no soul is set.",
	}, g.showSoul)
	handle(g, route{
		method:  http.MethodPut,
		path:    path,
		id:      "updateSoul",
		tag:     tagMemory,
		scope:   access.Write,
		bytes:   smallBody,
		summary: "Change the soul (the user's reply preferences)",
		about: "The change takes effect in the next prompt session, after at most CAIRN_SESSION_TTL (default 30 " +
			"minutes).",
	},
		g.updateSoul)
	handle(g, route{method: http.MethodGet, path: path + "/history", id: "soulHistory", tag: tagMemory,
		scope: access.Read, summary: "List the versions of the soul, the latest first"}, g.soulHistory)
	handle(g, route{method: http.MethodPost, path: path + "/rollback", id: "rollbackSoul", tag: tagMemory,
		scope: access.Write, bytes: smallBody,
		summary: "Roll back the soul to an older version"}, g.rollbackSoul)
}

func (g *Gateway) showSoul(ctx context.Context, _ *struct{}) (*bodyOf[Soul], error) {
	s, err := g.Memory.SoulGet(ctx, person(ctx, IdempotencyKey{}))
	return &bodyOf[Soul]{Soul(s)}, err
}

func (g *Gateway) updateSoul(ctx context.Context, in *struct {
	IdempotencyKey
	Body SoulChange
}) (*bodyOf[SoulWritten], error) {
	w, err := g.Memory.SoulUpdate(ctx, person(ctx, in.IdempotencyKey), memories.SoulArgs(in.Body))
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
	w, err := g.Memory.SoulRollback(ctx, person(ctx, in.IdempotencyKey), memories.RollbackArgs(in.Body))
	return &bodyOf[SoulWritten]{SoulWritten(w)}, err
}
