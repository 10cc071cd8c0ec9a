package library_test

import (
	"testing"

	"cairn/internal/domain/agent"
)

func TestWritesOfToolsPruneWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.KeepVersions = 1
	user := agent.Actor{Workspace: b.ws.ID, Origin: agent.OriginUser}
	kept := func() string { return b.column("select version::text from skill_versions order by version") }
	age := func() { b.exec("update skill_versions set created_at = created_at - interval '2 hours'") }

	b.does(user, "skill_save", deploy(), "created", 1)
	b.does(user, "skill_patch", patchOf("Build", "Make"), "patched", 2)
	b.does(user, "skill_patch", patchOf("Make", "Bake"), "patched", 3)
	if got := kept(); got != "1,2,3" {
		t.Errorf("versions %s are kept; those of the last hour are counted", got)
	}
	age()
	b.call(b.as(agent.OriginAgent), "skill_view", object{"name": "deploy-web", "version": 1})
	b.does(user, "skill_patch", patchOf("Bake", "Build"), "patched", 4)
	if got := kept(); got != "1,4" {
		t.Errorf("versions %s are kept; an open run has read 1", got)
	}
	if got := b.number("select count(*) from packages where state = 'pending'"); got != 2 {
		t.Errorf("%d packages are for collection, want those of 2 and 3", got)
	}

	nudge := b.as(agent.OriginNudge)
	b.call(nudge, "skill_view", object{"name": "deploy-web"})
	b.does(nudge, "skill_patch", patchOf("Build", "Make"), "staged", 4)
	b.exec("update runs set status = 'ended', outcome = 'completed'")
	age()
	b.does(user, "skill_patch", patchOf("Build", "Cook"), "patched", 5)
	if got := kept(); got != "4,5" {
		t.Errorf("versions %s are kept; an open change was made on 4", got)
	}
	if got := b.column("select version::text from skill_views"); got != "4" {
		t.Errorf("what runs have read: %s", got)
	}
}

func TestAListCanBeOfOneCategory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"prune-roses", "rake-leaves", "cut-hedges"} {
		b.topic(name, "garden")
	}
	b.topic("tune-piano", "music")
	a := b.as(agent.OriginAgent)
	first := b.call(a, "skill_list", object{"category": "garden", "limit": 2})
	if names(first) != "cut-hedges prune-roses" || first["total"] != 3.0 {
		t.Errorf("the first page %v", first)
	}
	rest := b.call(a, "skill_list", object{"category": "garden", "limit": 2, "cursor": first["next_cursor"]})
	if names(rest) != "rake-leaves" || rest["next_cursor"] != nil {
		t.Errorf("the second page %v", rest)
	}
	// A head has the category of the version in force, also after a rollback.
	user := b.as(agent.OriginUser)
	b.does(user, "skill_save", object{"name": "tune-piano", "description": "All about tune piano",
		"content": "## When to Use\nFor tune-piano.\n\n## Procedure\n1. Do tune-piano\n", "category": "garden"},
		"updated", 2)
	if got := names(b.call(a, "skill_list",
		object{"category": "garden"})); got != "cut-hedges prune-roses rake-leaves tune-piano" {
		t.Errorf("after the move: %s", got)
	}
	if _, err := b.Rollback(t.Context(), b.ws.ID, int64(b.number("select id from skills where name = 'tune-piano'")), 1,
		0); err != nil {
		t.Fatal(err)
	}
	if got := names(b.call(a, "skill_list", object{"category": "music"})); got != "tune-piano" {
		t.Errorf("after the rollback: %s", got)
	}
}
