package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

const updateExtract = `{"name":"Service Deployment ` +
	`Rollback","description":"","update":true,"old_memory_id":"S1","trigger":["rollback","migration"],
 "procedure":"1. Confirm the symptom with a health probe\n2. Find the last release that passed its probe\n3. Check ` +
	`that the schema still fits that release\n4. Roll back and wait for all replicas\n5. Probe again and record the ` +
	`outcome",
 "experience":["Check schema compatibility before rolling ` +
	`back"],"preference":[],"examples":[],"scripts":null,"tool":null,"others":null}`

// c2 returns another conversation on the subject of C1.
func c2(id string) transcript.Conversation {
	c := apptest.C1()
	c.ID, c.Title = id, id
	c.Messages[0].Content = "The payment service fails since the last deployment, roll it back to a healthy release (" +
		id + ")."
	return c
}

func TestDistillUpdatesAnExistingSkill(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", Reply: updateExtract})
	b.ScriptR1()
	first := b.Distill(apptest.C1()).Tasks[0]
	var created skill.Head
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		created, err = q.Skills().SkillHead(ctx, first.SkillID)
		return err
	})
	second := b.Distill(c2("second")).Tasks[0]

	if second.Outcome != distillation.Updated || second.SkillID != first.SkillID || second.Version != 2 {
		t.Fatalf("second task: %+v", second)
	}
	members := unzip(t, readFile(t, second.Package))
	got := hash(members["service_deployment_rollback/SKILL.md"])
	if got != "ac62993b3f19494d1500a2dc46d1598f3cc02f8fd4fb24cc956435408bfe7fc9" {
		t.Errorf("SKILL.md of version 2 has sha256 %s and reads\n%s", got,
			members["service_deployment_rollback/SKILL.md"])
	}
	if members["service_deployment_rollback/scripts/check_health.py"] == nil ||
		members["service_deployment_rollback/reference/checklist.md"] == nil {
		t.Error("script or checklist was lost")
	}
	if old := unzip(t, readFile(t, first.Package)); hash(
		old["service_deployment_rollback/SKILL.md"]) !=
		"c09c8b76cf5c33b0a38dfc131626279bf2fac250cd28cd5b2241ea85b0866063" {
		t.Error("the package of version 1 is not what it was")
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		head, err := q.Skills().SkillHead(ctx, first.SkillID)
		if !head.CreatedAt.Equal(created.CreatedAt) || head.Version != 2 {
			t.Errorf("head %+v, created %v", head, created.CreatedAt)
		}
		return err
	})
	found, err := b.Finder.Skills(t.Context(), b.Workspace.ID, "roll back a failing deployment", 5)
	testkit.Must(t, err)
	if len(found) != 1 || found[0].Skill.Version != 2 {
		t.Errorf("search finds %+v, want version 2 once", found)
	}
	if n := b.Model.Count("merge"); n != 0 {
		t.Errorf("%d merge requests, want none: the model saw the head", n)
	}

	text, err := b.Library.Diff(t.Context(), b.Workspace.ID, first.SkillID, 1, 2)
	testkit.Must(t, err)
	if !strings.Contains(text, "+3. Check that the schema still fits that release") ||
		!strings.Contains(text, "-3. Roll back and wait for all replicas") {
		t.Errorf("diff:\n%s", text)
	}
	head, err := b.Library.Rollback(t.Context(), b.Workspace.ID, first.SkillID, 1, 2)
	testkit.Must(t, err)
	b.Within(func(ctx context.Context, q store.Tx) error {
		one, err := q.Skills().Version(ctx, first.SkillID, 1)
		testkit.Must(t, err)
		three, err := q.Skills().Version(ctx, first.SkillID, 3)
		if head.Version != 3 || three.Body != one.Body || three.ContentSHA != one.ContentSHA ||
			!slices.Equal(three.Files, one.Files) {
			t.Errorf("version 3 is not version 1: %+v", three)
		}
		return err
	})
	if _, err := b.Library.Rollback(t.Context(), b.Workspace.ID, first.SkillID, 1,
		2); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("rolling back what has moved: %v", err)
	}
}

func TestDistillNeverTakesATargetFromTheModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	other := mustWorkspace(t, b, "other")
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", ReplyFunc: func(c openaitest.Call) string {
		_, id, _ := strings.Cut(c.Last, "healthy release (")
		id, _, _ = strings.Cut(id, ").")
		return fmt.Sprintf(`{"name":"Skill for %s","description":"Forged %s","procedure":"1. one\n2. `+
			`two","update":true,"old_memory_id":%q}`, skill.Canonical(id), skill.Canonical(id), id)
	}})
	b.ScriptR1()
	own := b.Workspace
	b.Workspace = other
	victim := b.Distill(apptest.C1()).Tasks[0]
	before := readFile(t, victim.Package)
	b.Workspace = own
	for _, forged := range []string{fmt.Sprint(victim.SkillID), "S9", "6f1c0a52-93a5-4f41-9a7a-6c1f2a0f2a11",
		"not-a-uuid", "1'; drop table skills; --"} {
		r := b.Distill(c2(forged))
		task := r.Tasks[0]
		if task.Outcome != distillation.Created || task.SkillID == victim.SkillID {
			t.Errorf("%q: task %+v", forged, task)
		}
		if !strings.Contains(strings.Join(task.Notes, " "), "rejected_target") {
			t.Errorf("%q: notes %q", forged, task.Notes)
		}
	}
	b.Workspace = other
	b.Within(func(ctx context.Context, q store.Tx) error {
		heads, err := q.Skills().Skills(ctx, skill.Listing{Statuses: skill.Statuses(), Max: 10})
		if len(heads) != 1 || heads[0].Version != 1 {
			t.Errorf("the other workspace has %+v", heads)
		}
		return err
	})
	if !slices.Equal(before, readFile(t, victim.Package)) {
		t.Error("the other workspace's package has changed")
	}
	for path := range tree(t, b.Packages) {
		if strings.Contains(path, fmt.Sprintf("/%d/", other.ID)) && path != victim.Package && path != victim.SkillMD {
			t.Errorf("an object under the other workspace: %s", path)
		}
	}
}

func TestConcurrentUpdatesFollowEachOther(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	reply := func(lesson string) string {
		return fmt.Sprintf(
			`{"name":"Service Deployment Rollback","update":true,"old_memory_id":"S1","experience":[%q]}`, lesson)
	}
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "alpha", Barrier: "both", Reply: reply("Lesson alpha")})
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "beta", Barrier: "both", Reply: reply("Lesson beta")})
	b.Model.On(openaitest.Rule{Stage: "merge", ReplyFunc: func(c openaitest.Call) string {
		if strings.Contains(c.Last, "Lesson alpha") && strings.Contains(c.Last, "Lesson beta") {
			return `{"action":"update","target":"S1","experience":["Lesson alpha","Lesson beta"]}`
		}
		return `{"action":"skip","reason":"the merge was not shown both"}`
	}})
	b.ScriptR1()
	first := b.Distill(apptest.C1()).Tasks[0]
	var refs []run.Ref
	for _, id := range []string{"alpha", "beta"} {
		r := b.Accept(c2(id))
		testkit.Must(t, b.Driver.Start(t.Context(), b.Workspace.Key, "import", r))
		refs = append(refs, r.Ref)
	}
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "both", 2))
	b.Model.Release("both")
	for i, ref := range refs {
		if r := b.Wait(ref); r.Outcome != run.Completed || r.Tasks[0].SkillID != first.SkillID {
			t.Errorf("run %s: %q, %+v", ref.Run, r.Outcome, r.Tasks)
		}
		b.RecordEnded(b.Wait(ref).Tasks[0].WorkflowID, fmt.Sprintf("DistillSkill/merged-%d", i+1))
	}
	if n := b.Model.Count("merge"); n != 1 {
		t.Errorf("%d merge requests, want exactly 1", n)
	}
	history, err := b.Library.History(t.Context(), b.Workspace.ID, first.SkillID, 10)
	testkit.Must(t, err)
	for i, v := range history {
		if want := len(history) - i; v.Number != want || v.Base != want-1 {
			t.Errorf("version %d on base %d, want %d on %d", v.Number, v.Base, want, want-1)
		}
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.Skills().Version(ctx, first.SkillID, 3)
		if err != nil {
			return err
		}
		if d := v.Document(); !slices.Contains(d.Experience, "Lesson alpha") ||
			!slices.Contains(d.Experience, "Lesson beta") {
			t.Errorf("version 3 has the lessons %q", d.Experience)
		}
		return nil
	})
}
