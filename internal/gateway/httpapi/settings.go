package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/settings"
	"cairn/internal/service/apikey"
)

// WorkspaceSettings are all of them, defaults included.
type WorkspaceSettings settings.Document

func (g *Gateway) settingsRoutes() {
	const path = "/v1/settings"
	patch := schemaOf[WorkspaceSettings](g)
	handle(g, route{method: http.MethodGet, path: path, id: "showSettings", tag: tagSettings, scope: apikey.Read,
		summary: "Show the workspace's settings, defaults included"}, g.showSettings)
	handle(g, route{method: http.MethodPatch, path: path, id: "changeSettings", tag: tagSettings, scope: apikey.Admin,
		bytes: smallBody, summary: "Change some of the workspace's settings",
		about: "A JSON merge patch: what is not named stays, null gives a setting its default back. A turn that was " +
			"accepted before keeps the settings that it was accepted under.",
		body: &huma.RequestBody{Required: true, Description: "The members to change; none of them is required",
			Content: map[string]*huma.MediaType{"application/merge-patch+json": {Schema: patch},
				"application/json": {Schema: patch}}}}, g.changeSettings)
}

func (g *Gateway) showSettings(ctx context.Context, _ *struct{}) (*bodyOf[WorkspaceSettings], error) {
	s, err := g.Workspaces.Settings(ctx, workspace(ctx))
	return &bodyOf[WorkspaceSettings]{WorkspaceSettings(settings.DocumentOf(s))}, err
}

func (g *Gateway) changeSettings(ctx context.Context, in *struct{ RawBody []byte }) (*bodyOf[WorkspaceSettings],
	error) {
	s, err := g.Workspaces.ChangeSettings(ctx, workspace(ctx), in.RawBody)
	return &bodyOf[WorkspaceSettings]{WorkspaceSettings(settings.DocumentOf(s))}, err
}
