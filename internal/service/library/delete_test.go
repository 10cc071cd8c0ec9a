package library_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

func TestADeleteCanBeTakenBackForSevenDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.as(agent.OriginAgent)
	b.does(a, "skill_save", deploy(), "created", 1)
	b.refused(a, "skill_delete", object{"name": "deploy-web", "expected_version": 3}, fault.VersionConflict)
	out := b.does(a, "skill_delete", object{"name": "deploy-web", "expected_version": 1, "reason": "not wanted"},
		"deleted", 0)
	until, err := time.Parse(time.RFC3339Nano, out["undo_until"].(string))
	testkit.Must(t, err)
	if n := b.number("select round(extract(epoch from $1::timestamptz - now()) / 3600)::int", until); n != 7*24 {
		t.Errorf("can be taken back for %d hours", n)
	}
	if got := fmt.Sprint(b.call(a, "skill_list", object{"include_archived": true})["total"],
		b.call(a, "skill_list", object{"query": "deploy-web"})["total"]); got != "0 0" {
		t.Errorf("a deleted skill is listed and found: %s", got)
	}
	b.refused(a, "skill_delete", object{"name": "deploy-web"}, fault.NotFound)

	head, err := b.RestoreNamed(t.Context(), b.ws.ID, "deploy-web")
	testkit.Must(t, err)
	if head.Version != 1 || head.Status != "active" {
		t.Errorf("restored %+v", head)
	}
	if got := names(b.call(a, "skill_list", object{"query": "deploy-web"})); got != "deploy-web" {
		t.Errorf("not found again: %s", got)
	}

	b.does(a, "skill_delete", object{"name": "deploy-web"}, "deleted", 0)
	b.does(a, "skill_save", deploy(with("description", "Deploys it again")), "created", 1)
	if _, err := b.RestoreNamed(t.Context(), b.ws.ID, "1"); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("restored next to its successor: %v", err)
	}
	b.does(a, "skill_delete", object{"name": "deploy-web"}, "deleted", 0)
	b.exec("update skills set deleted_at = deleted_at - interval '8 days'")
	if _, err := b.RestoreNamed(t.Context(), b.ws.ID, "deploy-web"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("restored after eight days: %v", err)
	}
}

func TestADeleteTellsWhichPromptsNameTheSkill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.as(agent.OriginAgent)
	b.does(a, "skill_save", deploy(), "created", 1)
	b.does(a, "skill_save", object{"name": "release-all", "description": "Releases everything",
		"content": body("Ask around")}, "created", 1)
	b.exec("insert into scheduled_tasks (workspace_id, name, kind, cron, prompt) values ($1, 'friday', 'turn', '0 9 "+
		"* * 5', 'Follow deploy-web, then report.'), ($1, 'monday', 'turn', '0 9 * * 1', 'Say hello.')", b.ws.ID)
	out := b.does(a, "skill_delete", object{"name": "deploy-web", "absorbed_into": "release-all"}, "deleted", 0)
	if got, want := fmt.Sprint(out["warnings"]),
		`[the prompt of the scheduled task "friday" names deploy-web: change it to release-all]`; got != want {
		t.Errorf("warnings %s, want %s", got, want)
	}
	if out := b.does(a, "skill_delete", object{"name": "release-all"}, "deleted", 0); out["warnings"] != nil {
		t.Errorf("warnings %v", out["warnings"])
	}
}

func TestWhoNobodyWatchesOnlyArchivesWhatWasAbsorbed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reflection := b.as(agent.OriginReflection)
	b.does(reflection, "skill_save", deploy(), "created", 1)
	b.does(reflection, "skill_save", object{"name": "bake-bread", "description": "Bakes bread",
		"content": body("Knead")}, "created", 1)
	for _, into := range []object{{}, {"absorbed_into": "deploy-web"}, {"absorbed_into": "nothing-there"}} {
		into["name"] = "deploy-web"
		b.refused(reflection, "skill_delete", into, fault.InvalidArgument)
	}
	b.refused(b.as(agent.OriginReflection), "skill_delete", object{"name": "deploy-web", "absorbed_into": "bake-bread"},
		fault.ReadRequired)
	b.refused(b.as(agent.OriginNudge), "skill_delete", object{"name": "deploy-web", "absorbed_into": "bake-bread"},
		fault.UnknownTool)
	b.does(reflection, "skill_delete", object{"name": "deploy-web", "absorbed_into": "bake-bread"}, "archived", 0)
	got := b.column("select status || ' ' || absorbed_into || ' ' || (deleted_at is null) from skills where id = 1")
	if got != "archived 2 true" {
		t.Errorf("archived as %s", got)
	}
	// which is archived
	b.refused(reflection, "skill_delete", object{"name": "bake-bread", "absorbed_into": "deploy-web"},
		fault.InvalidArgument)

	b.does(b.as(agent.OriginUser), "skill_save",
		object{"name": "prune-roses", "description": "Prunes roses", "content": body("Cut")}, "created", 1)
	b.call(reflection, "skill_view", object{"name": "prune-roses"})
	b.refused(reflection, "skill_delete", object{"name": "prune-roses", "absorbed_into": "bake-bread"},
		fault.NotManaged)
}

func TestADeleteWaitsWhereEveryChangeDoes(t *testing.T) {
	t.Parallel()
	b := setup(t, func(s *library.Settings) { s.Approval = library.ApproveAll })
	b.does(b.as(agent.OriginUser), "skill_save", deploy(), "created", 1)
	out := b.does(b.as(agent.OriginAgent), "skill_delete", object{"name": "deploy-web", "reason": "out of date"},
		"staged", 0)
	waiting := b.changes()
	if len(waiting) != 1 || out["pending_id"] != 1.0 || waiting[0].Op != library.OpDelete ||
		waiting[0].Gist != "delete deploy-web" || !strings.Contains(waiting[0].Reason, "out of date") {
		t.Fatalf("waiting %+v", waiting)
	}
	_, err := b.ApproveChange(t.Context(), b.ws.ID, 1, approval.Decision{})
	testkit.Must(t, err)
	b.refused(b.as(agent.OriginAgent), "skill_view", object{"name": "deploy-web"}, fault.NotFound)
	_, err = b.RestoreNamed(t.Context(), b.ws.ID, "deploy-web")
	testkit.Must(t, err)
}
