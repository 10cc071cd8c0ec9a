package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/service/vectorspace"
)

type (
	// ReembedReport describes the embedding spaces of the workspace and its latest re-embedding.
	ReembedReport vectorspace.Report
	// ReembedEstimate describes the work of a re-embedding.
	ReembedEstimate vectorspace.Estimate
	// ReembedStarted describes a started re-embedding.
	ReembedStarted vectorspace.Started
)

// ReembedRequest starts a re-embedding.
type ReembedRequest struct {
	Rate     int  `json:"rate,omitempty" minimum:"0" maximum:"100000" doc:"Documents per second; 0 or omitted: no limit"`
	Rollback bool `json:"rollback,omitempty" doc:"Return to the previous space, which is possible for 7 days"`
}

func (g *Gateway) reembedRoutes() {
	const path = "/v1/reembed"
	handle(g, route{method: http.MethodPost, path: path, id: "startReembed", tag: tagSettings, scope: access.Admin,
		status: http.StatusAccepted, summary: "Compute the vectors of all documents with the configured model",
		about: "Searches use the vectors of the previous model until all documents have new ones. If a re-embedding " +
			"is running, nothing happens."}, g.startReembed)
	handle(g, route{method: http.MethodGet, path: path, id: "showReembed", tag: tagSettings, scope: access.Read,
		summary: "Get the embedding spaces of the workspace and the progress of its re-embedding"}, g.showReembed)
	handle(g, route{method: http.MethodGet, path: path + "/estimate", id: "estimateReembed", tag: tagSettings,
		scope: access.Read, summary: "Count the documents that a re-embedding would embed"}, g.estimateReembed)
	for _, one := range []struct{ action, id, summary string }{
		{contract.PauseReembed, "pauseReembed", "Pause the re-embedding after the current batch"},
		{contract.ResumeReembed, "resumeReembed", "Resume a paused re-embedding"},
		{contract.CancelReembed, "cancelReembed", "Cancel the re-embedding; the vectors that exist are kept"},
	} {
		handle(g, route{method: http.MethodPost, path: path + "/" + one.action, id: one.id, tag: tagSettings,
			scope: access.Admin, status: http.StatusAccepted, summary: one.summary},
			func(ctx context.Context, _ *struct{}) (*bodyOf[ReembedReport], error) {
				if err := g.Reembed.Steer(ctx, asking(ctx).Workspace, one.action); err != nil {
					return nil, err
				}
				return g.showReembed(ctx, nil)
			})
	}
}

func (g *Gateway) startReembed(ctx context.Context, in *struct{ Body ReembedRequest }) (*bodyOf[ReembedStarted],
	error) {
	started, err := g.Reembed.Start(ctx, asking(ctx).Workspace, vectorspace.Options(in.Body))
	return &bodyOf[ReembedStarted]{ReembedStarted(started)}, err
}

func (g *Gateway) showReembed(ctx context.Context, _ *struct{}) (*bodyOf[ReembedReport], error) {
	r, err := g.Reembed.Status(ctx, workspace(ctx))
	return &bodyOf[ReembedReport]{ReembedReport(r)}, err
}

func (g *Gateway) estimateReembed(ctx context.Context, in *struct {
	Rate     int  `query:"rate" minimum:"0" maximum:"100000" doc:"Documents per second, for the estimated time"`
	Rollback bool `query:"rollback" doc:"Estimate the return to the previous space"`
}) (*bodyOf[ReembedEstimate], error) {
	e, err := g.Reembed.Estimate(ctx, workspace(ctx), vectorspace.Options{Rate: in.Rate, Rollback: in.Rollback})
	return &bodyOf[ReembedEstimate]{ReembedEstimate(e)}, err
}
