package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// use calls a tool as an agent and returns its result.
func use(b *apptest.Bundle, tool string, arguments map[string]any) (out struct {
	Action  string
	Version int
	Error   struct{ Code string }
}) {
	b.T.Helper()
	raw, err := json.Marshal(arguments)
	testkit.Must(b.T, err)
	r, err := b.Tools.Call(b.T.Context(), agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginAgent,
		Op: tool + string(raw)}, tool, raw)
	testkit.Must(b.T, err)
	testkit.Must(b.T, json.Unmarshal(r.JSON, &out))
	return out
}

func teaching(name string) map[string]any {
	return map[string]any{"name": name, "description": "All about " + name,
		"content": "## When to Use\nFor " + name + ".\n\n## Procedure\n1. Do " + name + "\n", "allow_similar": true}
}

func TestExtraFilesGoOnThroughAPatch(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	picture := "\x89PNG\r\n\x1a\n\x00\xff not text"
	made, err := b.Library.Import(t.Context(), b.Workspace.ID,
		zipOf(t, "tea/SKILL.md", "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Boil water\n",
			"tea/scripts/boil.sh", "true\n", "tea/assets/cup.png", picture), "import", &approval.Override{})
	testkit.Must(t, err)
	if got := use(b, "skill_patch", map[string]any{"name": "tea", "old_string": "Boil water",
		"new_string": "Boil fresh water"}); got.Action != "patched" || got.Version != 2 {
		t.Fatalf("%+v", got)
	}
	_, archive, v, err := b.Library.Package(t.Context(), b.Workspace.ID, made.Head.ID, 2, "")
	testkit.Must(t, err)
	got := unzip(t, archive)
	if string(got["tea/assets/cup.png"]) != picture || string(got["tea/scripts/boil.sh"]) != "true\n" ||
		!strings.Contains(string(got["tea/SKILL.md"]), "Boil fresh water") {
		t.Errorf("the package holds %q", got)
	}
	if len(v.Extra) != 1 || v.Extra[0].Path != "assets/cup.png" {
		t.Errorf("the version records %+v", v.Extra)
	}
}

func TestAWorkspaceDecidesAboutItsSkills(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	choose := func(change func(*settings.Settings)) {
		t.Helper()
		testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(_ context.Context, q store.Tx) error {
			s, err := q.Workspaces().Settings(t.Context())
			if err != nil {
				return err
			}
			change(&s)
			return q.Workspaces().SetSettings(t.Context(), s)
		}))
	}
	if got := use(b, "skill_save", teaching("bake-bread")); got.Action != "created" {
		t.Errorf("with the defaults: %+v", got)
	}
	choose(func(s *settings.Settings) { s.WriteApproval.Skills = "all" })
	if got := use(b, "skill_save", teaching("fold-paper")); got.Action != "staged" {
		t.Errorf("when all waits: %+v", got)
	}
	choose(func(s *settings.Settings) { s.WriteApproval.Skills, s.Limits.ActiveSkills = "off", 2 })
	if got := use(b, "skill_save", teaching("tune-piano")); got.Error.Code != "quota_exceeded" {
		t.Errorf("a third of two: %+v", got)
	}
}

func TestASessionIsToldOfSkillsAndTheirTools(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	use(b, "skill_save", teaching("bake-bread"))
	got, err := b.AgentRuns.Memory.Remembered(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	if want := "- bake-bread: All about bake-bread"; got.Skills != want {
		t.Errorf("told of %q, want %q", got.Skills, want)
	}
	var names []string
	for _, s := range b.Tools.Offered(agent.OriginAgent) {
		names = append(names, s.Name)
	}
	// tools from load_meta_skills on exist in sessions that have chosen them, or in conversations
	// with offloaded content
	want := "[skill_save skill_list skill_view skill_patch skill_delete soul_update memory_save memory_replace " +
		"memory_remove memory_batch memory_search load_meta_skills load_skills load_reference_skills grep_content " +
		"read_content]"
	if fmt.Sprint(names) != want {
		t.Errorf("tools %v, want %s", names, want)
	}
}
