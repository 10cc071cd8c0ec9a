package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/settings"
	"cairn/internal/service/apikey"
)

// WorkspaceSettings holds all settings, including defaults.
type WorkspaceSettings settings.Document

func (g *Gateway) settingsRoutes() {
	const path = "/v1/settings"
	patch := schemaOf[WorkspaceSettings](g)
	handle(g, route{method: http.MethodGet, path: path, id: "showSettings", tag: tagSettings, scope: apikey.Read,
		summary: "Get the workspace's settings, including defaults"}, g.showSettings)
	handle(g, route{
		method:  http.MethodPatch,
		path:    path,
		id:      "changeSettings",
		tag:     tagSettings,
		scope:   apikey.Admin,
		bytes:   smallBody,
		summary: "Change settings of the workspace",
		about: "The body is a JSON merge patch: omitted settings stay unchanged, and null resets a setting to its " +
			"default. A turn that was accepted earlier keeps the settings from the time of its acceptance.",
		body: &huma.RequestBody{Required: true, Description: "The settings to change; all are optional",
			Content: map[string]*huma.MediaType{"application/merge-patch+json": {Schema: patch},
				"application/json": {Schema: patch}}},
	}, g.changeSettings)
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
