package mem0api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
)

// Clients of mem0's platform need an organization, a project and a user. The project is the workspace.
const organization = "cairn"

func (c *call) ping() (any, error) {
	ws := c.from.Workspace
	return map[string]any{"status": "ok", "org_id": organization, "project_id": ws.Key,
		"user_email": ws.Key + "@cairn.invalid"}, nil
}

// ownProject returns an error if the path names another project.
func (c *call) ownProject() error {
	if c.r.PathValue("org") != organization || c.r.PathValue("project") != c.from.Workspace.Key {
		return fault.New(fault.NotFound, "Project not found", "the key selects the workspace; "+
			"use the org_id and project_id of the answer to a ping")
	}
	return nil
}

// project returns the settings of the workspace that mem0 knows.
func (c *call) project() (any, error) {
	if err := c.ownProject(); err != nil {
		return nil, err
	}
	if err := c.examine(projectOptions); err != nil {
		return nil, err
	}
	s, err := c.Workspaces.Settings(c.r.Context(), c.from.Workspace.ID)
	if err != nil {
		return nil, err
	}
	return c.projectOf(s.Mem0), nil
}

func (c *call) projectOf(m settings.Mem0) map[string]any {
	out := map[string]any{"org_id": organization, "project_id": c.from.Workspace.Key,
		"name": cmp.Or(m.Name, c.from.Workspace.Name), "custom_instructions": orNothing(m.CustomInstructions),
		"agent_custom_instructions": orNothing(m.AgentCustomInstructions),
		"custom_categories":         categoriesTo(m.CustomCategories)}
	if fields := c.r.URL.Query()["fields"]; len(fields) > 0 {
		if len(fields) == 1 {
			fields = strings.Split(fields[0], ",")
		}
		maps.DeleteFunc(out, func(name string, _ any) bool { return !slices.Contains(fields, name) })
	}
	return out
}

// changeProject changes the settings of the workspace that mem0 knows. Null resets one.
func (c *call) changeProject() (any, error) {
	if err := c.ownProject(); err != nil {
		return nil, err
	}
	if err := c.examine(projectOptions); err != nil {
		return nil, err
	}
	var in map[string]json.RawMessage
	if err := c.read(&in); err != nil {
		return nil, err
	}
	change := map[string]any{}
	for _, name := range []string{"name", "custom_instructions", "agent_custom_instructions"} {
		if raw, given := in[name]; given {
			change[name] = raw
		}
	}
	if raw, given := in["custom_categories"]; given {
		all, err := categoriesFrom(raw)
		if err != nil {
			return nil, err
		}
		change["custom_categories"] = all
	}
	if len(change) == 0 {
		return nil, fault.New(fault.InvalidArgument, "no setting of the project that can be changed was sent",
			"send name, custom_instructions, agent_custom_instructions or custom_categories")
	}
	patch, err := json.Marshal(map[string]any{"mem0": change})
	if err != nil {
		return nil, err
	}
	s, err := c.Workspaces.ChangeSettings(c.r.Context(), c.from.Workspace.ID, patch)
	if err != nil {
		return nil, err
	}
	out := c.projectOf(s.Mem0)
	out["message"] = "Updated custom instructions and categories"
	return out, nil
}

// categoriesFrom decodes custom categories: objects of a name and a description, or names.
func categoriesFrom(raw json.RawMessage) ([]agent.Category, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	invalid := fault.New(fault.InvalidArgument, "invalid custom_categories",
		`send a list such as [{"sports": "games, hobbies and exercise"}]`)
	var list []any
	if decodeJSON(raw, &list) != nil {
		return nil, invalid
	}
	out := []agent.Category{}
	for _, one := range list {
		switch v := one.(type) {
		case string:
			out = append(out, agent.Category{Name: v})
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				description, isText := v[name].(string)
				if !isText && v[name] != nil {
					return nil, invalid
				}
				out = append(out, agent.Category{Name: name, Description: description})
			}
		default:
			return nil, invalid
		}
	}
	return out, settings.CheckCategories("custom_categories", out)
}

func categoriesTo(all []agent.Category) []map[string]string {
	out := []map[string]string{}
	for _, c := range all {
		out = append(out, map[string]string{c.Name: c.Description})
	}
	return out
}

// guidance is what to remember, in the words of the request or of the project.
func (in mem0Add) guidance(p settings.Mem0) string {
	agents := ""
	if in.User == "" && in.Agent != "" {
		agents = cmp.Or(in.AgentCustom, p.AgentCustomInstructions)
	}
	text := cmp.Or(in.Prompt, agents, in.Custom, p.CustomInstructions)
	for _, part := range []struct{ title, text string }{{"Remember only: ", in.Includes},
		{"Never remember: ", in.Excludes}} {
		if part.text != "" {
			text = strings.TrimSpace(text + "\n" + part.title + part.text)
		}
	}
	return text
}

// maxGuidance is the length of guidance, in bytes, up to which the categories are added to it. Without them,
// Cairn chooses the categories itself.
const maxGuidance = 3000

// withCategories adds the categories, for models that can set metadata.
func withCategories(guidance string, all []agent.Category) string {
	if len(all) == 0 {
		return guidance
	}
	lines := []string{"Set the metadata member categories of each memory to the names of the categories that fit it:"}
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("- %s: %s", c.Name, c.Description))
	}
	more := strings.Join(lines, "\n")
	if len(guidance)+len(more) > maxGuidance {
		return guidance
	}
	return strings.TrimSpace(guidance + "\n" + more)
}
