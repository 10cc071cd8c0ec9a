package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/service/library"
	"cairn/internal/service/tools"
)

func skillRegistry(t *testing.T) *tools.Registry {
	t.Helper()
	all, err := tools.Skills(&library.Library{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSkillToolsAreOfferedByOrigin(t *testing.T) {
	r := skillRegistry(t)
	all := []string{"skill_save", "skill_list", "skill_view", "skill_patch", "skill_delete"}
	for origin, want := range map[agent.Origin][]string{
		agent.OriginUser: all, agent.OriginAgent: all, agent.OriginReflection: all, agent.OriginNudge: all[:4],
		agent.OriginDistill: nil, agent.OriginImport: nil,
	} {
		var got []string
		for _, s := range r.Offered(origin) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is offered %v, want %v", origin, got, want)
		}
	}
	denied, err := r.Call(t.Context(), agent.Actor{Origin: agent.OriginNudge}, "skill_delete",
		[]byte(`{"name":"deploy-web"}`))
	if err != nil || denied.Code != fault.UnknownTool || !strings.Contains(string(denied.JSON), "skill_patch") {
		t.Errorf("who may not delete is told %s, %v", denied.JSON, err)
	}
}

func TestSkillToolsSayWhatTheyTake(t *testing.T) {
	for _, s := range skillRegistry(t).Offered(agent.OriginUser) {
		var schema struct {
			Type       string                     `json:"type"`
			Additional *json.RawMessage           `json:"additionalProperties"`
			Required   []string                   `json:"required"`
			Properties map[string]json.RawMessage `json:"properties"`
			OneOf      *json.RawMessage           `json:"oneOf"`
			AnyOf      *json.RawMessage           `json:"anyOf"`
		}
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Type != "object" || schema.Additional == nil || schema.OneOf != nil || schema.AnyOf != nil ||
			schema.Properties["workspace"] != nil || schema.Properties["origin"] != nil {
			t.Errorf("%s takes %s", s.Name, s.Input)
		}
		want := map[string][]string{"skill_save": {"name", "description", "content"}, "skill_list": nil,
			"skill_view": {"name"}, "skill_patch": {"name", "old_string", "new_string"}, "skill_delete": {"name"}}
		if !slices.Equal(schema.Required, want[s.Name]) {
			t.Errorf("%s requires %v", s.Name, schema.Required)
		}
		if reads := s.Name == "skill_list" || s.Name == "skill_view"; s.ReadOnly != reads ||
			s.Destructive != (s.Name == "skill_delete") {
			t.Errorf("%s: read only %t, destructive %t", s.Name, s.ReadOnly, s.Destructive)
		}
		if s.Name == "skill_save" && !strings.Contains(string(schema.Properties["category"]), `["string","null"]`) {
			t.Errorf("category is %s", schema.Properties["category"])
		}
	}
}

func TestWrongArgumentsAreAnsweredShortly(t *testing.T) {
	a := agent.Actor{Origin: agent.OriginAgent}
	secret := strings.Repeat("sk-secret ", 1000)
	for tool, args := range map[string]map[string]any{
		"skill_view":   {"name": "x", "section": secret},
		"skill_list":   {"query": secret},
		"skill_delete": {"name": "x", "reason": secret},
		"skill_patch":  {"name": "x"},
	} {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		r, err := skillRegistry(t).Call(context.Background(), a, tool, raw)
		if err != nil || r.OK || r.Code != "invalid_argument" || len(r.JSON) > 1000 {
			t.Errorf("%s: %v, %d bytes: %.200s", tool, err, len(r.JSON), r.JSON)
		}
	}
}
