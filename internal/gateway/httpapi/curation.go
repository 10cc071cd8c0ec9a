package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/service/apikey"
	"cairn/internal/service/curate"
)

type (
	// CurationReport is what a curation has done.
	CurationReport curate.Report
	// Insights tell what a workspace used and spent.
	Insights curate.Insights
)

func (g *Gateway) curationRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/curation", id: "curateSkills", tag: tagSkills,
		scope: apikey.Admin, summary: "Put skills that nobody uses out of use, and report near duplicates",
		about: "What weekly-curation does. Skills of a person, pinned ones and those that a scheduled prompt names " +
			"are left alone; nothing is deleted."}, g.curateSkills)
	handle(g, route{method: http.MethodGet, path: "/v1/insights", id: "showInsights", tag: tagSkills,
		scope: apikey.Read, summary: "Tell which skills are used, which are not, and what was spent"}, g.showInsights)
}

func (g *Gateway) curateSkills(ctx context.Context, in *struct {
	DryRun bool `query:"dry_run" doc:"Only tell what would be done"`
}) (*bodyOf[CurationReport], error) {
	r, err := g.Curator.Curate(ctx, workspace(ctx), in.DryRun)
	return &bodyOf[CurationReport]{CurationReport(r)}, err
}

func (g *Gateway) showInsights(ctx context.Context, in *struct {
	Days int `query:"days" default:"30" minimum:"1" maximum:"3660" doc:"Up to now"`
}) (*bodyOf[Insights], error) {
	r, err := g.Workspaces.Insights(ctx, workspace(ctx), in.Days)
	return &bodyOf[Insights]{Insights(r)}, err
}
