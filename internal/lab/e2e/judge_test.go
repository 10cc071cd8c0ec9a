package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/service/library"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// judged opens a Cairn that judges its drafts, scripted with R1.
func judged(t *testing.T, rules ...openaitest.Rule) *apptest.Bundle {
	t.Helper()
	b := apptest.Open(t, quality)
	scriptJudge(b, rules...)
	return b
}

func quality(c *config.Config) { c.Quality = true }

func scriptJudge(b *apptest.Bundle, rules ...openaitest.Rule) {
	for _, r := range rules {
		r.Stage = "judge"
		b.Model.On(r)
	}
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", Reply: updateExtract})
	b.ScriptR1()
}

// standing returns a skill with its active version.
func standing(b *apptest.Bundle, id int64) (head skill.Head, v skill.Version) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		if head, err = q.Skills().SkillHead(ctx, id); err != nil {
			return err
		}
		v, err = q.Skills().Version(ctx, id, head.Version)
		return err
	})
	return head, v
}

// found reports whether search finds any skill for a deployment that fails.
func found(b *apptest.Bundle) bool {
	b.T.Helper()
	hits, err := b.Finder.Skills(b.T.Context(), b.Workspace.ID, "roll back a failing deployment", 5)
	testkit.Must(b.T, err)
	return len(hits) > 0
}

func TestAPoorDraftIsKeptButNotFoundUntilItIsBetter(t *testing.T) {
	t.Parallel()
	b := judged(t, openaitest.Rule{Match: "payment service", Reply: apptest.Judgment(14, "Complete now.")},
		openaitest.Rule{Reply: apptest.Judgment(9, "Nothing is checked  after\nthe rollback.")})
	r := b.Distill(apptest.C1())
	first := r.Tasks[0]
	b.RecordEnded(first.WorkflowID, "DistillSkill/judged")
	if r.Outcome != run.Completed || first.Outcome != distillation.Created || len(b.Model.Requests()) != 4 {
		t.Fatalf("ended as %q (%+v) after %d requests, want the three of R1 and the judge's", r.Outcome, first,
			len(b.Model.Requests()))
	}
	head, v := standing(b, first.SkillID)
	if head.Status != skill.DraftStatus || first.Status != skill.DraftStatus || v.Quality == nil ||
		v.Quality.Score != 5.6 || v.Quality.Reason != "Nothing is checked after the rollback." ||
		len(v.Quality.Criteria) != 8 {
		t.Errorf("the skill is %s, its quality %+v", head.Status, v.Quality)
	}
	if found(b) {
		t.Error("search shows a draft")
	}
	listed, err := b.Library.List(t.Context(), b.Workspace.ID, library.Filter{})
	if err != nil || len(listed.Skills) != 1 {
		t.Errorf("%d skills are listed (%v), want the draft", len(listed.Skills), err)
	}

	second := b.Distill(c2("second")).Tasks[0]
	if second.Outcome != distillation.Updated || second.SkillID != first.SkillID || second.Version != 2 {
		t.Fatalf("the draft was not recalled: %+v", second)
	}
	if head, v := standing(b, first.SkillID); head.Status != skill.Active || v.Quality.Score != 8.8 || !found(b) {
		t.Errorf("the better version is %s with %+v", head.Status, v.Quality)
	}
	for _, call := range b.Model.Requests() { // the judge sees the skill as it would be, not the change alone
		if call.Stage == "judge" && strings.Contains(call.Last, "payment service") {
			for _, part := range []string{"Probe before and after every change",
				"Check schema compatibility before rolling back", "check_health.py"} {
				if !strings.Contains(call.Last, part) {
					t.Errorf("the judge is not shown %q", part)
				}
			}
		}
	}
}

func TestAPoorDraftCanBeApprovedOrRejected(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := judged(t, openaitest.Rule{Reply: apptest.Judgment(4, "Common knowledge.")})
	id := b.Distill(apptest.C1()).Tasks[0].SkillID
	if head, err := b.Library.Approve(
		t.Context(),
		b.Workspace.ID,
		id,
		approval.Decision{},
	); err != nil ||
		head.Status != skill.Active ||
		!found(b) {
		t.Errorf("approved: %+v, %v", head, err)
	}
	// A poor change of an active skill waits.
	if second := b.Distill(c2("second")).Tasks[0]; second.Outcome != distillation.Staged ||
		second.Status != skill.Active {
		t.Errorf("second task: %+v", second)
	}

	b = judged(t, openaitest.Rule{Reply: apptest.Judgment(4, "Common knowledge.")})
	id = b.Distill(apptest.C1()).Tasks[0].SkillID
	if head, err := b.Library.Reject(t.Context(), b.Workspace.ID, id); err != nil || head.Status != skill.Archived {
		t.Errorf("rejected: %+v, %v", head, err)
	}
}

func TestAGoodEnoughDraftIsActive(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := judged(t, openaitest.Rule{Reply: apptest.Judgment(10, "Just about.")})
	task := b.Distill(apptest.C1()).Tasks[0]
	if head, v := standing(b, task.SkillID); head.Status != skill.Active || v.Quality.Score != 6.3 || !found(b) {
		t.Errorf("the skill is %s with %+v", head.Status, v.Quality)
	}
	if task.Quality == nil || task.Quality.Score != 6.3 {
		t.Errorf("the report says %+v", task.Quality)
	}
}

// If the judge returns no score, the skill is a draft.
func TestAJudgeThatFailsGivesNoScore(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	cairn := apptest.Open(t, quality)
	for name, c := range map[string]struct {
		rule openaitest.Rule
		note bool
	}{
		"no JSON":           {openaitest.Rule{Reply: "It is rather good."}, true},
		"no criteria":       {openaitest.Rule{Reply: `{"criteria":[],"reason":"Splendid."}`}, true},
		"a refusal":         {openaitest.Rule{Refusal: "I cannot judge this."}, true},
		"a refused request": {openaitest.Rule{Status: http.StatusBadRequest, Reply: "no"}, true},
		"an endpoint away":  {openaitest.Rule{Status: http.StatusServiceUnavailable, Reply: "later"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := cairn.Part(t)
			scriptJudge(b, c.rule)
			r := b.Distill(apptest.C1(), func(r *distill.Request) { r.Spec.Timing.Model = 2 * time.Second })
			task := r.Tasks[0]
			if r.Outcome != run.Completed || task.Outcome != distillation.Created || len(task.Degraded) != 0 {
				t.Fatalf("ended as %q: %+v", r.Outcome, task)
			}
			head, v := standing(b, task.SkillID)
			if head.Status != skill.DraftStatus || v.Quality != nil || found(b) {
				t.Errorf("the skill is %s with %+v", head.Status, v.Quality)
			}
			if n := count(b, fmt.Sprint("select count(*) from cairn.skill_versions where quality is null and "+
				"workspace_id = ", b.Workspace.ID)); n != 1 {
				t.Error("the score is not null")
			}
			if strings.Contains(strings.Join(task.Notes, " "), "not judged: ") != c.note {
				t.Errorf("notes %q", task.Notes)
			}
		})
	}
}

// The worker dies between the judge's reply and the commit: the judge is not called again.
func TestTheJudgeIsAskedOnceAcrossACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) { c.Quality = true })
	b.Model.On(openaitest.Rule{Stage: "judge", Reply: apptest.Judgment(14, "Good.")})
	b.ScriptR1()
	unlock := lockSkills(b)
	worker := b.StartProcess()
	ref := b.StartDistill()
	testkit.Eventually(t, "the package is uploaded and its commit waits", func() bool { return waitingForLock(b) == 1 })
	worker.Kill()
	unlock()
	b.StartProcess()

	onlyOnce(b, ref)
	if n := b.Model.Count("judge"); n != 1 {
		t.Errorf("the judge was asked %d times", n)
	}
	if n := count(b, "select count(*) from cairn.llm_calls where step like '%/judge'"); n != 1 {
		t.Errorf("%d judge calls are in the ledger", n)
	}
}

func TestEveryNewSkillAndChangeCanWaitForApproval(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.RequireApproval = true })
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", Reply: updateExtract})
	b.ScriptR1()
	first := b.Distill(apptest.C1()).Tasks[0]
	if first.Outcome != distillation.Created || first.Status != skill.Candidate || found(b) {
		t.Fatalf("a new skill: %+v", first)
	}
	_, err := b.Library.Approve(t.Context(), b.Workspace.ID, first.SkillID, approval.Decision{})
	testkit.Must(t, err)

	second := b.Distill(c2("second")).Tasks[0]
	if head, _ := standing(b, first.SkillID); second.Outcome != distillation.Staged || head.Version != 1 || !found(b) {
		t.Fatalf("a change went ahead: %+v, head %+v", second, head)
	}
	waiting := pendingChanges(t, b)
	if len(waiting) != 1 || waiting[0].Reason != "every change needs approval" {
		t.Fatalf("waiting %+v", waiting)
	}
	head, err := b.Library.ApproveChange(t.Context(), b.Workspace.ID, waiting[0].ID, approval.Decision{})
	if err != nil || head.Version != 2 {
		t.Errorf("approved: %+v, %v", head, err)
	}
}

// If approval is required, an improved draft needs it, too.
func TestABetterDraftStillWaitsWhereApprovalIsAskedFor(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := judged(t, openaitest.Rule{Match: "payment service", Reply: apptest.Judgment(14, "Good.")},
		openaitest.Rule{Reply: apptest.Judgment(2, "Thin.")})
	approval := func(r *distill.Request) { r.Spec.Approval = true }
	if first := b.Distill(apptest.C1(), approval).Tasks[0]; first.Status != skill.DraftStatus {
		t.Fatalf("first task: %+v", first)
	}
	if second := b.Distill(c2("second"), approval).Tasks[0]; second.Version != 2 || second.Status != skill.Candidate ||
		found(b) {
		t.Errorf("second task: %+v", second)
	}
}
