package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/settings"
)

// WorkspaceSettings are all of them, defaults included.
type WorkspaceSettings settings.Document

func (g *Gateway) settingsRoutes() {
	const path = "/v1/settings"
	patch := schemaOf[WorkspaceSettings](g)
	handle(g, route{method: http.MethodGet, path: path, id: "showSettings", tag: tagSettings, scope: Read, summary: "Show the workspace's settings, defaults included"}, g.showSettings)
	handle(g, route{method: http.MethodPatch, path: path, id: "changeSettings", tag: tagSettings, scope: Admin, bytes: smallBody, summary: "Change some of the workspace's settings",
		about: "A JSON merge patch: what is not named stays, null gives a setting its default back. A turn that was accepted before keeps the settings that it was accepted under.",
		body: &huma.RequestBody{Required: true, Description: "The members to change; none of them is required",
			Content: map[string]*huma.MediaType{"application/merge-patch+json": {Schema: patch}, "application/json": {Schema: patch}}}}, g.changeSettings)
}

func (g *Gateway) showSettings(ctx context.Context, _ *struct{}) (out *bodyOf[WorkspaceSettings], err error) {
	err = g.Store.InWorkspace(ctx, workspace(ctx), func(ctx context.Context, q postgres.Tx) error {
		s, err := q.Workspaces().Settings(ctx)
		out = &bodyOf[WorkspaceSettings]{WorkspaceSettings(settings.DocumentOf(s))}
		return err
	})
	return out, err
}

func (g *Gateway) changeSettings(ctx context.Context, in *struct{ RawBody []byte }) (out *bodyOf[WorkspaceSettings], err error) {
	err = g.Store.InWorkspace(ctx, workspace(ctx), func(ctx context.Context, q postgres.Tx) error {
		s, err := q.Workspaces().PatchSettings(ctx, in.RawBody)
		if err == nil {
			err = g.Progressive.Registry.Check(s.Memory)
		}
		out = &bodyOf[WorkspaceSettings]{WorkspaceSettings(settings.DocumentOf(s))}
		return err
	})
	return out, err
}
