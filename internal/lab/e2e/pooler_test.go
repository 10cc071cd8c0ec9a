package e2e_test

import (
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// Everything works behind PgBouncer in transaction mode: a turn is answered, a conversation is
// distilled, and its skill is found.
func TestEverythingWorksBehindAPooler(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) {
		c.DatabaseURL, c.DatabasePooler = pgtest.Pooler(t, c.DatabaseURL), "transaction"
	})
	b.Start()
	b.ScriptR1()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada."})
	if said := b.Say("thread", 1, "Hello, I am Ada."); said.Reply != "Hello, Ada." {
		t.Errorf("answered %+v", said)
	}
	report := b.Distill(apptest.C1())
	if len(report.Tasks) == 0 || report.Tasks[0].Skill == "" {
		t.Fatalf("distilled %+v", report)
	}
	found, err := b.Finder.SearchSkills(t.Context(), b.Workspace.ID, report.Tasks[0].Skill,
		[]skill.Status{skill.Active}, 5)
	testkit.Must(t, err)
	if len(found.Skills) == 0 {
		t.Errorf("the skill %q is not found", report.Tasks[0].Skill)
	}
}
