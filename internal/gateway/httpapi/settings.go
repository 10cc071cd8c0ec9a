package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/settings"
)

// WorkspaceSettings holds all settings, including defaults.
type WorkspaceSettings settings.Document

func (g *Gateway) settingsRoutes() {
	const path = "/v1/settings"
	patch := schemaOf[WorkspaceSettings](g)
	handle(g, route{method: http.MethodGet, path: path, id: "showSettings", tag: tagSettings, scope: access.Read,
		summary: "Get the workspace's settings, including defaults"}, g.showSettings)
	handle(g, route{method: http.MethodGet, path: path + "/schema", id: "describeSettings", tag: tagSettings,
		scope: access.Read, summary: "Get the meaning, the type and the default of each setting"}, g.describeSettings)
	handle(g, route{
		method:  http.MethodPatch,
		path:    path,
		id:      "changeSettings",
		tag:     tagSettings,
		scope:   access.Admin,
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

// SettingDescription describes a setting.
type SettingDescription struct {
	Name    string          `json:"name" doc:"With the names of its groups, such as nudge.every"`
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
	Text    string          `json:"description" doc:"Meaning, range and effect"`
}

// SettingDescriptions holds the descriptions of all settings, by name.
type SettingDescriptions struct {
	Settings []SettingDescription `json:"settings"`
}

func (g *Gateway) describeSettings(context.Context, *struct{}) (*bodyOf[SettingDescriptions], error) {
	out := &bodyOf[SettingDescriptions]{}
	for _, d := range settings.Descriptions() {
		out.Body.Settings = append(out.Body.Settings, SettingDescription(d))
	}
	return out, nil
}
