package e2e_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
)

// An update of an active skill that passes all other checks is compared with the version in force.
func TestAnUpdateThatIsWorseWaits(t *testing.T) {
	t.Parallel()
	b := judged(t, openaitest.Rule{Reply: apptest.Judgment(14, "Good.")})
	b.Model.On(openaitest.Rule{Stage: "compare", ReplyFunc: func(call openaitest.Call) string {
		current := "a"
		if a, _, _ := strings.Cut(call.Last, `"handle":"b"`); strings.Contains(a, "Check schema compatibility") {
			current = "b" // only the update says this, and it is a
		}
		return `{"reason":"It is shorter.","better":"` + current + `"}`
	}})
	first := b.Distill(apptest.C1()).Tasks[0]
	if head, _ := standing(b, first.SkillID); head.Status != skill.Active {
		t.Fatalf("the skill is %s", head.Status)
	}
	second := b.Distill(c2("second")).Tasks[0]
	b.RecordEnded(second.WorkflowID, "DistillSkill/compared")
	if second.Outcome != distillation.Staged || second.SkillID != first.SkillID || b.Model.Count("compare") != 2 {
		t.Fatalf("ended as %+v after %d comparisons", second, b.Model.Count("compare"))
	}
	if head, _ := standing(b, first.SkillID); head.Version != 1 {
		t.Errorf("version %d is in force", head.Version)
	}
}
