package gateway

import (
	"context"
	"net/http"
	"strings"

	"cairn/internal/fault"
	"cairn/internal/search"
)

// SearchResults are the skills that answer a query, the best first.
type SearchResults struct {
	Query   string         `json:"query"`
	Results []search.Found `json:"results"`
}

func (g *Gateway) searchRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/search", id: "search", tag: tagSkills, scope: Read, summary: "Search the workspace's skills",
		about: "An exact name comes first; an unrelated query finds nothing."}, g.search)
}

func (g *Gateway) search(ctx context.Context, in *struct {
	Q     string `query:"q" required:"true" maxLength:"1000"`
	Limit int    `query:"limit" default:"5" minimum:"1" maximum:"50"`
}) (*bodyOf[SearchResults], error) {
	if strings.TrimSpace(in.Q) == "" {
		return nil, fault.New(fault.InvalidArgument, "q has no words", "send what to search for")
	}
	found, err := g.Finder.Skills(ctx, workspace(ctx), in.Q, in.Limit)
	return &bodyOf[SearchResults]{SearchResults{in.Q, found}}, err
}
