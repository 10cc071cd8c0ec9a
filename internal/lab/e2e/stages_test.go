package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestGateSaysWhyNothingIsDistilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	memos := func(r *distill.Request) { r.Spec.Gate.Policy = transcript.GateMemos }
	four := apptest.C1()
	four.ID = "four"
	four.Messages = slices.Delete(four.Messages, 10, 11)
	for i := range four.Messages {
		four.Messages[i].Seq = i
	}
	r := b.Distill(four, memos)
	if r.Outcome != run.Gated || !strings.Contains(r.Reason, "4 < 5 tool messages") || len(b.Model.Requests()) != 0 {
		t.Errorf("ended as %q (%s) after %d requests", r.Outcome, r.Reason, len(b.Model.Requests()))
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		heads, err := q.Skills().Skills(ctx, skill.Listing{Statuses: skill.Statuses(), Max: 10})
		if len(heads) != 0 {
			t.Errorf("skills %+v", heads)
		}
		return err
	})
	if n := count(b, "select count(*) from cairn.messages"); n != 13 {
		t.Errorf("%d messages are stored, want all 13", n)
	}
	always := b.Distill(four, memos, func(r *distill.Request) { r.Spec.Extract = transcript.ExtractAlways })
	if always.Outcome != run.Completed {
		t.Errorf("with extract=always it ended as %q (%s)", always.Outcome, always.Reason)
	}
	same := apptest.C1()
	same.ID = "same"
	for i := range same.Messages {
		if same.Messages[i].Role == transcript.Tool {
			same.Messages[i].Content = "OK"
		}
	}
	if r := b.Distill(same, memos); r.Outcome == run.Gated {
		t.Errorf("five equal tool messages were gated: %s", r.Reason)
	}
}

func TestBrokenJSONIsRepaired(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	good := `{"name":"Fenced Example","description":"Shows a fence",` +
		`"procedure":"1. one\n2. two","examples":["Before\n` + "```json" + `\n{\"a\": 1}\n` + "```" + `\nafter"]}`
	b.Model.On(openaitest.Rule{Stage: "extract", Nth: 1, Reply: "Here is what I found: a skill about fences."})
	b.Model.On(openaitest.Rule{Stage: "extract", Nth: 2, Reply: "```json\n{\"name\":\"Fenced Example\",}\n```"})
	b.Model.On(openaitest.Rule{Stage: "extract", Nth: 3, Reply: good})
	b.ScriptR1()
	r := b.Distill(apptest.C1())
	if r.Outcome != run.Completed || b.Model.Count("extract") != 3 {
		t.Fatalf("ended as %q after %d extract requests", r.Outcome, b.Model.Count("extract"))
	}
	for _, call := range b.Model.Requests() {
		if call.Stage == "extract" && call.Index > 0 && strings.Contains(string(call.Body), "Here is what I found") &&
			!strings.Contains(call.Last, "JSON") {
			t.Errorf("a repair does not say what was wrong: %s", call.Last)
		}
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.Skills().Version(ctx, r.Tasks[0].SkillID, 1)
		if err == nil && !slices.Contains(v.Document().Examples, "Before\n```json\n{\"a\": 1}\n```\nafter") {
			t.Errorf("examples %q", v.Document().Examples)
		}
		return err
	})
}

func TestThinkingAloudIsNoBrokenJSON(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "extract",
		Reply: "<think>Is {this} a skill?</think>\n" +
			`{"name":"Thought Over","description":"d","procedure":"1. one\n2. two"}`})
	b.ScriptR1()
	if r := b.Distill(apptest.C1()); r.Outcome != run.Completed || b.Model.Count("extract") != 1 {
		t.Errorf("ended as %q after %d extract requests", r.Outcome, b.Model.Count("extract"))
	}
}

func TestWhatFailedForGoodIsNotAskedAgainAtOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "extract", Reply: "no JSON at all"})
	b.ScriptR1()
	r := b.Distill(apptest.C1())
	if r.Outcome != run.Failed || !strings.Contains(r.Tasks[0].Reason, "repairs") {
		t.Fatalf("ended as %q: %+v", r.Outcome, r.Tasks)
	}
	again := apptest.C1()
	again.ID = "again"
	if r := b.Distill(again); r.Outcome != run.Failed || b.Model.Count("extract") != 3 {
		t.Errorf("the same messages again: %q after %d extract requests, want the 3 of the first time", r.Outcome,
			b.Model.Count("extract"))
	}
}

func TestFilesStayWithTheirSkill(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "segment",
		Reply: `[{"task_name":"One","message_indices":[[0,6]]},{"task_name":"Two","message_indices":[[7,13]]}]`})
	extract := func(name, scripts string) string {
		return fmt.Sprintf(`{"name":%q,"description":"About %s","procedure":"1. one of %s\n2. two","scripts":%s}`, name,
			name, name, scripts)
	}
	b.Model.On(openaitest.Rule{Stage: "extract", Match: `"task": ?"One"`,
		Reply: extract("First Thing", `[{"file":"a.py","purpose":"a"},{"file":"b.py","purpose":"b"}]`)})
	b.Model.On(openaitest.Rule{Stage: "extract", Match: `"task": ?"Two"`,
		Reply: extract("Second Matter", `[{"file":"c.py","purpose":"c"}]`)})
	b.Model.On(openaitest.Rule{Stage: "files", Match: `a\.py`, Delay: 300 * time.Millisecond,
		Reply: `{"b.py":"print('b')\n","a.py":"print('a')\n"}`})
	b.Model.On(openaitest.Rule{Stage: "files", Match: `c\.py`, Reply: `{"c.py":"print('c')\n"}`})
	r := b.Distill(apptest.C1())
	if len(r.Tasks) != 2 {
		t.Fatalf("tasks %+v", r.Tasks)
	}
	for i, want := range []map[string]string{
		{"first_thing/scripts/a.py": "print('a')\n", "first_thing/scripts/b.py": "print('b')\n"},
		{"second_matter/scripts/c.py": "print('c')\n"},
	} {
		members := unzip(t, readFile(t, r.Tasks[i].Package))
		if len(members) != len(want)+1 {
			t.Errorf("task %d: members %q", i, members)
		}
		for name, content := range want {
			if string(members[name]) != content {
				t.Errorf("%s holds %q, want %q", name, members[name], content)
			}
		}
	}
}

func TestAFileThatCannotBeWrittenDegradesTheSkill(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: apptest.R1Segment})
	b.Model.On(openaitest.Rule{Stage: "extract", Reply: `{"name":"Partly Written","description":"d","procedure":"1. ` +
		`one\n2. two","scripts":"Write a parser","others":{"notes.md":"notes","good.md":"good"}}`})
	b.Model.On(openaitest.Rule{Stage: "files", Reply: `{"parser.py":"print(1)\n","good.md":"# Good\n"}`})
	r := b.Distill(apptest.C1())
	if r.Outcome != run.Completed || len(r.Tasks[0].Degraded) == 0 {
		t.Fatalf("ended as %q with %+v", r.Outcome, r.Tasks)
	}
	if !slices.ContainsFunc(r.Tasks[0].Degraded, func(d string) bool {
		return strings.HasPrefix(d, "reference/notes.md: ")
	}) {
		t.Errorf("degraded %q does not name notes.md", r.Tasks[0].Degraded)
	}
	members := unzip(t, readFile(t, r.Tasks[0].Package))
	if text := string(members["partly_written/SKILL.md"]); strings.Contains(text, "notes.md") ||
		!strings.Contains(text, "good.md") {
		t.Errorf("SKILL.md:\n%s", text)
	}
}

func TestHistoryFillsGapsAndIsNotTheSource(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	r := b.Distill(apptest.C1(), func(r *distill.Request) { r.From, r.Spec.Extract = 6, transcript.ExtractAlways })
	if r.Outcome != run.Completed || r.Messages != 8 || r.Tasks[0].Messages != 8 {
		t.Fatalf("ended as %q over %d messages, task over %+v", r.Outcome, r.Messages, r.Tasks)
	}
	for _, call := range b.Model.Requests() {
		_, history, found := strings.Cut(call.Last, `"history"`)
		if call.Stage == "extract" && (!found || !strings.Contains(history, "bring it back")) {
			t.Errorf("no history in the material: %s", call.Last)
		}
		if call.Stage == "segment" && strings.Contains(call.Last, "bring it back") {
			t.Error("the history was divided into tasks")
		}
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.Skills().Version(ctx, r.Tasks[0].SkillID, 1)
		for _, s := range v.Sources {
			if s.From < 6 {
				t.Errorf("the skill rests on message %d, which is history", s.From)
			}
		}
		return err
	})
}

// A failed conversation can add lessons to a skill, but no procedure, and it creates no skill.
func TestAFailedConversationTeachesLessonsOnly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	failed := `{"name":"Service Deployment ` +
		`Rollback","description":"wrong","update":true,"old_memory_id":"S1","trigger":["wrong"],"procedure":"1. do ` +
		`the wrong thing","experience":["Never skip the probe"]}`
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", Reply: failed})
	b.ScriptR1()
	reward := 0.0
	alone := c2("alone")
	alone.Reward = &reward
	if r := b.Distill(alone); r.Tasks[0].Outcome != distillation.Skipped {
		t.Errorf("a failed conversation made %+v", r.Tasks)
	}
	first := b.Distill(apptest.C1()).Tasks[0]
	second := c2("second")
	second.Reward = &reward
	r := b.Distill(second).Tasks[0]
	if r.Outcome != distillation.Staged || r.SkillID != first.SkillID { // the lessons were not seen to work
		t.Fatalf("task %+v", r)
	}
	head, err := b.Library.ApproveChange(t.Context(), b.Workspace.ID, pendingChanges(t, b)[0].ID, approval.Decision{})
	testkit.Must(t, err)
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.Skills().Version(ctx, r.SkillID, head.Version)
		d := v.Document()
		if !slices.Contains(d.Experience, "Never skip the probe") || strings.Contains(d.Procedure, "wrong") ||
			slices.Contains(d.Trigger, "wrong") || d.Description == "wrong" {
			t.Errorf("version %d: %+v", head.Version, d)
		}
		return err
	})
}
