package distill_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// document is what a version of a skill says.
func (d *distilling) document(id int64, version int) (v skill.Version) {
	d.t.Helper()
	read := func(ctx context.Context, tx store.Tx) (err error) {
		v, err = tx.Skills().Version(ctx, id, version)
		return err
	}
	testkit.Must(d.t, d.Service.Store.InWorkspaceByKeys(d.t.Context(), d.A.ID, read))
	return v
}

func TestPublishMakesASkillWithItsPackage(t *testing.T) {
	t.Parallel()
	d := setup(t)
	r, c := d.published(d.request(talk("Checkout")))
	task := r.Tasks[0]
	if r.Outcome != run.Completed || c.Outcome != string(distillation.Created) || c.Version != 1 ||
		task.SkillID != c.Skill ||
		task.Skill != "service_deployment_rollback" && task.Skill != "service-deployment-rollback" ||
		task.Status != skill.Active {
		t.Fatalf("ended as %q with %+v", r.Outcome, task)
	}
	for _, path := range []string{task.Package, task.SkillMD} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	text, err := os.ReadFile(task.SkillMD)
	testkit.Must(t, err)
	for _, part := range []string{"Probe before every change", "check.py", "checklist.md"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("SKILL.md lacks %q", part)
		}
	}
	if r.Usage.Keys != 3 || task.Calls != 2 || len(r.Calls) != 3 || task.Tokens != 30 {
		t.Errorf("usage %+v, of the task %d calls with %d tokens", r.Usage, task.Calls, task.Tokens)
	}
}

func TestPublishRepeatedCommitsOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.written(d.request(talk("Checkout")))
	first, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	again, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || again != first {
		t.Errorf("published %+v, and then %+v: %v", first, again, err)
	}
	if c, err := d.Commit(t.Context(), ref, key); err != nil || c != first {
		t.Errorf("committed %+v: %v", c, err)
	}
	if rows := d.Rows("skills", "skill_versions", "packages"); rows != "skills 1, skill_versions 1, packages 1" {
		t.Errorf("there are %s", rows)
	}
	_, err = d.Publish(t.Context(), pgtest.TaskRef(ref, "nothing"))
	failsFor(t, "an unknown task", err)
	_, err = d.Commit(t.Context(), ref, "nothing")
	failsFor(t, "the commit of an unknown task", err)
	_, err = d.Pack(t.Context(), ref, "nothing")
	failsFor(t, "the package of an unknown task", err)
}

func TestPackRepeatedLeavesOnePackageToCommit(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.written(d.request(talk("Checkout")))
	for range 2 {
		if unseen, err := d.Pack(t.Context(), ref, key); unseen || err != nil {
			t.Errorf("unseen %t: %v", unseen, err)
		}
	}
	if rows := d.Rows("skills", "packages"); rows != "skills 0, packages 1" {
		t.Errorf("there are %s", rows)
	}
	for range 2 {
		if c, err := d.Commit(t.Context(), ref, key); err != nil || c.Outcome != string(distillation.Created) ||
			c.Version != 1 {
			t.Errorf("committed %+v: %v", c, err)
		}
	}
	if rows := d.Rows("skills", "skill_versions"); rows != "skills 1, skill_versions 1" {
		t.Errorf("there are %s", rows)
	}
}

// If two drafts update one skill, the second one has not seen the first and is merged with it.
func TestMergeJoinsADraftWithTheHeadThatItHasNotSeen(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.written(d.request(talk("Payments"))) // before there is a skill
	first, _ := d.published(d.request(talk("Checkout")))
	if unseen, err := d.Pack(t.Context(), ref, key); !unseen || err != nil {
		t.Fatalf("unseen %t: %v", unseen, err)
	}
	c, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || c != (contract.PublishResult{Unseen: true}) {
		t.Errorf("published %+v: %v", c, err)
	}
	for range 2 {
		testkit.Must(t, d.Merge(t.Context(), pgtest.TaskRef(ref, key)))
	}
	if n := d.model.counts["merge"]; n != 1 {
		t.Errorf("the merge was paid %d times", n)
	}
	c, err = d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || c.Outcome != string(distillation.Updated) || c.Skill != first.Tasks[0].SkillID || c.Version != 2 {
		t.Fatalf("published %+v: %v", c, err)
	}
	lessons := strings.Join(d.document(c.Skill, 2).Document().Experience, "\n")
	if !strings.Contains(lessons, "Probe before every change") || !strings.Contains(lessons, "Merged by a model") {
		t.Errorf("lessons %s", lessons)
	}
	failsFor(t, "an unknown task", d.Merge(t.Context(), pgtest.TaskRef(ref, "nothing")))
}

func TestMergeWithoutAModelJoinsByRule(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("merge", "no JSON at all")
	d.model.says("extract", draft("Lesson of Payments"))
	ref, key := d.written(d.request(talk("Payments")))
	d.model.says("extract", draft("Lesson of Checkout"))
	d.published(d.request(talk("Checkout")))
	testkit.Must(t, d.Merge(t.Context(), pgtest.TaskRef(ref, key)))
	c, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || c.Version != 2 {
		t.Fatalf("published %+v: %v", c, err)
	}
	lessons := strings.Join(d.document(c.Skill, 2).Document().Experience, "\n")
	if !strings.Contains(lessons, "Lesson of Payments") || !strings.Contains(lessons, "Lesson of Checkout") {
		t.Errorf("lessons %s", lessons)
	}
}

func TestPublishOfWhatASkillSaysAlreadyMakesNoVersion(t *testing.T) {
	t.Parallel()
	d := setup(t)
	first, _ := d.published(d.request(talk("Checkout")))
	d.model.says("extract", draft("Probe before every change", with("update", true), with("old_memory_id", "S1")))
	_, c := d.published(d.request(talk("Payments")))
	if c.Outcome != string(distillation.Unchanged) || c.Skill != first.Tasks[0].SkillID {
		t.Errorf("published %+v", c)
	}
	if rows := d.Rows("skills", "skill_versions"); rows != "skills 1, skill_versions 1" {
		t.Errorf("there are %s", rows)
	}
	if n := d.Number("select count(distinct conversation_id) from skill_sources"); n != 2 {
		t.Errorf("it rests on %d conversations", n)
	}
}

func TestASkillWaitsForApprovalWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	r, _ := d.published(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Approval = true }))
	if task := r.Tasks[0]; task.Outcome != distillation.Created || task.Status != skill.Candidate {
		t.Errorf("%+v", task)
	}
}

func TestAPoorSkillIsADraft(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("judge", judgment(4))
	ref, key := d.written(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Quality = true }))
	testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
	_, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	if task := d.report(ref).Tasks[0]; task.Status != skill.DraftStatus || task.Quality.Score != 2.5 {
		t.Errorf("%+v", task)
	}
}

// A draft with the fields of the agent profile, from the messages of talk.
func shapedDraft() string {
	return draft("Probe before every change", with("procedure", nil), with("not_for", []string{"a new service"}),
		with("inputs", []any{map[string]any{"name": "service", "origin": "the user", "required": true}}),
		with("rules", []any{map[string]any{"if": "the probe answers 502", "then": "roll back", "value": "", "unit": "",
			"source": "observed", "evidence": []int{2}},
			map[string]any{"if": "it rains", "then": "wait", "source": "policy", "evidence": []int{77}}}),
		with("steps", []any{map[string]any{"text": "Probe the service.", "tool": "kubectl", "arguments": []string{
			"url"},
			"check": "it answers 200.", "if_fails": "roll back.", "evidence": []int{2}},
			map[string]any{"text": "Restart the world.", "evidence": []int{}},
			map[string]any{"text": "Roll back.", "evidence": []int{3}}}),
		with("pitfalls", []any{map[string]any{"error": "502", "cause": "the last deploy", "fix": "roll back",
			"evidence": []int{2, 3}}}), with("verification", []string{"All replicas are ready."}))
}

func TestASkillHasTheProfileOfItsRun(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string][]string{
		"": {"## When to Use\nUse when: rollback\nNot for: a new service\n", "## Inputs\n- service: the user " +
			"(required)\n",
			"## Decision Rules\n- If the probe answers 502 → roll back [observed]\n",
			"1. Probe the service. `kubectl(url)`\n   Check: it answers 200.\n   If it fails: roll back.\n2. Roll " +
				"back.\n",
			"## Pitfalls\n- `502` → the last deploy → roll back\n", "## Verification\n- All replicas are ready.\n"},
		skill.SeedProfile: {"## Trigger\nrollback\n", "Inputs:\n- service: the user (required)\n\n1. Probe",
			"3. Verify: All replicas are ready.\n", "## Experience\n1. Not for: a new service\n2. If the probe"},
	} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.model.says("extract", shapedDraft())
			r, _ := d.published(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Profile = profile }))
			body := d.document(r.Tasks[0].SkillID, 1).Body
			for _, text := range want {
				if !strings.Contains(body, text) {
					t.Errorf("no %q in\n%s", text, body)
				}
			}
			for _, text := range []string{"it rains", "Restart the world"} {
				if strings.Contains(body, text) {
					t.Errorf("%q has no citation, and is in\n%s", text, body)
				}
			}
			if !strings.Contains(strings.Join(r.Tasks[0].Notes, " "), "2 rules, steps or pitfalls were dropped") {
				t.Errorf("notes %q", r.Tasks[0].Notes)
			}
		})
	}
}

// Invented quotes of a judge make no active skill, and quotes keep no values of the case.
func TestAJudgesQuotesAreLookedUpAndCleaned(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		quote, said string
		want        skill.Status
	}{
		"found quotes":           {"Service Deployment Rollback", "get_user user_id mia_li_3668", skill.Active},
		"an invented quote":      {"Restart every node first", "get_user user_id mia_li_3668", skill.DraftStatus},
		"invented conversation":  {"Service Deployment Rollback", "all nodes were restarted", skill.DraftStatus},
		"a quote without a word": {"Service Deployment Rollback", "---", skill.DraftStatus},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.model.says("judge", testkit.Judgment(16, c.quote, c.said, "Good for mia_li_3668."))
			ref, key := d.written(d.request(customer(), func(r *distill.Request) { r.Spec.Quality = true }))
			testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
			_, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
			testkit.Must(t, err)
			task := d.report(ref).Tasks[0]
			if task.Status != c.want || len(task.Quality.Criteria) != 8 {
				t.Errorf("%s with %+v", task.Status, task.Quality)
			}
			if text := fmt.Sprint(*task.Quality); strings.Contains(text, "mia_li") {
				t.Errorf("the judgment keeps a value: %s", text)
			}
		})
	}
}

// What a person states about the end of a conversation counts more than its file.
func TestAFailedConversationMakesNoSkill(t *testing.T) {
	t.Parallel()
	lost, won := 0.0, 1.0
	for what, c := range map[string]struct {
		reward *float64
		stated transcript.Verdict
		failed bool
	}{
		"the file states a failure":                    {&lost, "", true},
		"a person states a failure":                    {nil, transcript.Failure, true},
		"a person states a failure, the file a reward": {&won, transcript.Failure, true},
		"a person states a success, the file none":     {&lost, transcript.Success, false},
		"nobody knows":                                 {nil, transcript.Unknown, false},
	} {
		d := setup(t)
		talked := talk("Checkout")
		talked.Reward = c.reward
		ref, key := d.drafted(d.request(talked, func(r *distill.Request) { r.Spec.Outcome = c.stated }))
		got, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
		if err != nil || got.Unseen || (got.Skill == 0) != c.failed {
			t.Errorf("%s: published %+v: %v", what, got, err)
		}
		task := d.report(ref).Tasks[0]
		if c.failed && (task.Outcome != distillation.Skipped || !strings.Contains(task.Reason, "failed")) {
			t.Errorf("%s: %+v", what, task)
		}
		if rows := d.Rows("skills"); rows != map[bool]string{true: "skills 0", false: "skills 1"}[c.failed] {
			t.Errorf("%s: there are %s", what, rows)
		}
	}
	d := setup(t)
	_, _, err := d.Accept(
		t.Context(),
		d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Outcome = "good" }),
	)
	wants(t, "an unknown outcome", err, fault.InvalidArgument)
}

func TestSecretsOfAConversationReachNoModelAndNoSkill(t *testing.T) {
	t.Parallel()
	d := setup(t)
	secret := "sk-proj-" + strings.Repeat("a1B2c3D4", 6)
	c := talk("Checkout")
	c.Messages[2].Content = "export OPENAI_API_KEY=" + secret
	d.model.says("extract", draft("Use "+secret))
	r, done := d.published(d.request(c))
	for role, m := range d.model.last {
		for _, said := range m.Messages {
			if strings.Contains(said.Content, secret) {
				t.Errorf("%s is told the secret", role)
			}
		}
	}
	if text := d.document(done.Skill, 1).Body; strings.Contains(text, secret) || r.Outcome != run.Completed {
		t.Errorf("ended as %q with %s", r.Outcome, text)
	}
}

// Only the messages from the first one on are divided; those before are history.
func TestHistoryFillsGapsAndIsNotDivided(t *testing.T) {
	t.Parallel()
	d := setup(t)
	c := talk("Checkout")
	for i, text := range []string{"Payments answers 500 today, too.", "Looking at Payments.", "Restarted Payments."} {
		role := []transcript.Role{transcript.User, transcript.Assistant}[i%2]
		c.Messages = append(c.Messages, transcript.Message{Seq: 6 + i, Role: role, Content: text})
	}
	d.model.says("segment", `[{"task_name":"Service Operations","message_indices":[[0,8]]}]`)
	d.drafted(d.request(c, func(r *distill.Request) {
		r.From, r.Spec.Limits.HistoryMessages, r.Spec.Limits.HistoryChars = 6, 10, 1000
	}))
	if n := len(d.model.last["segment"].Messages); n != 3 {
		t.Errorf("%d messages are divided", n)
	}
	if m := d.model.last["extract"]; len(m.Messages) != 3 || len(m.History) != 6 {
		t.Errorf("a draft is made of %d messages with %d before them", len(m.Messages), len(m.History))
	}
}

var errAway = errors.New("the package store does not answer")

// awayBlobs is a package store that rejects all writes.
type awayBlobs struct{ distill.Blobs }

func (awayBlobs) Put(context.Context, string, []byte) error { return errAway }

func TestPublishGoesOnAfterThePackageStoreWasAway(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.written(d.request(talk("Checkout")))
	d.Blobs = awayBlobs{d.blobs}
	if _, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key)); !errors.Is(err, errAway) {
		t.Errorf("published: %v", err)
	}
	if _, err := d.Pack(t.Context(), ref, key); !errors.Is(err, errAway) {
		t.Errorf("packed: %v", err)
	}
	if rows := d.Rows("skills", "packages"); rows != "skills 0, packages 1" { // which an erase and collection know of
		t.Errorf("there are %s", rows)
	}
	d.Blobs = d.blobs
	c, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || c.Outcome != string(distillation.Created) {
		t.Errorf("published %+v: %v", c, err)
	}
	d.paid("extract 1, files 1, segment 1")
}

func TestPackageObjectsAreTheArchiveAndItsDocument(t *testing.T) {
	t.Parallel()
	got := distill.PackageObjects("1/x/rollback.zip")
	if len(got) != 2 || got[0] != "1/x/rollback.zip" || got[1] != "1/x/SKILL.md" {
		t.Errorf("%q", got)
	}
}
