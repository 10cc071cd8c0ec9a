package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/readmodel"
	"cairn/internal/service/library"
)

type (
	// CurationReport is the result of a curation.
	CurationReport library.CuratorReport
	// Insights describes the use of skills and the cost of a workspace.
	Insights readmodel.Insights
)

func (g *Gateway) curationRoutes() {
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/curation",
		id:      "curateSkills",
		tag:     tagSkills,
		scope:   access.Admin,
		summary: "Archive unused skills and report near duplicates",
		about: "Does the same as the scheduled task weekly-curation. Skills of users, pinned skills and skills " +
			"named in a scheduled prompt stay unchanged; nothing is deleted.",
	}, g.curateSkills)
	handle(g, route{method: http.MethodGet, path: "/v1/insights", id: "showInsights", tag: tagSkills,
		scope: access.Read, summary: "Show used skills, unused skills and model cost"}, g.showInsights)
}

func (g *Gateway) curateSkills(ctx context.Context, in *struct {
	DryRun bool `query:"dry_run" doc:"Report the changes without making them"`
}) (*bodyOf[CurationReport], error) {
	r, err := g.Curator.Curate(ctx, workspace(ctx), in.DryRun)
	return &bodyOf[CurationReport]{CurationReport(r)}, err
}

func (g *Gateway) showInsights(ctx context.Context, in *struct {
	Days int `query:"days" default:"30" minimum:"1" maximum:"3660" doc:"Number of past days to include"`
}) (*bodyOf[Insights], error) {
	r, err := g.Workspaces.Insights(ctx, workspace(ctx), in.Days)
	return &bodyOf[Insights]{Insights(r)}, err
}
