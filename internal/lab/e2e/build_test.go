package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/reflection"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// building returns a session of three spans: each message is longer than one.
func building() (out []transcript.Message) {
	for i, fact := range []string{"The greenhouse has nine lemon trees.", "The greenhouse has two lemon trees.",
		"The cellar key hangs by the door."} {
		out = append(out, transcript.Message{Role: transcript.User, Name: "Vera",
			Content: fact + strings.Repeat(fmt.Sprintf(" padding%d", i), 80)})
	}
	return out
}

// keeping cuts at each of these messages.
func keeping() bank.SpanOptions {
	k := bank.DefaultSpanOptions()
	k.Tokens, k.Overlap, k.K = 170, 0, 10 // all skills of a new bank
	return k
}

func buildSession(b *apptest.Bundle, messages []transcript.Message, change ...func(*build.Request)) run.Run {
	b.T.Helper()
	r := build.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: messages,
		Spec: app.EvolveSpec(b.Config), Keeping: keeping()}
	for _, f := range change {
		f(&r)
	}
	out, err := b.Learning.Builds.Accept(b.T.Context(), r)
	testkit.Must(b.T, err)
	return out
}

// builtBy waits for the end of a build.
func builtBy(b *apptest.Bundle, ref run.Ref) (out build.Result) {
	b.T.Helper()
	testkit.Eventually(b.T, "the session is remembered", func() (over bool) {
		b.Within(func(ctx context.Context, q store.Tx) error {
			r, err := q.Runs().Run(ctx, ref.Run)
			if err == nil && r.Status == run.Ended {
				over, err = true, json.Unmarshal(r.Result, &out)
			}
			return err
		})
		return over
	})
	return out
}

// keeper is a model that inserts the first sentence of a span, and updates a stored memory that
// starts with the same text.
func keeper(c openaitest.Call) string {
	m, err := prompt.ReadMaterial(c.Messages[1].Content)
	if err != nil {
		return err.Error()
	}
	fact, _, _ := strings.Cut(m.Messages[0].Content, " padding")
	action := map[string]any{"type": "insert", "target": nil, "content": fact, "about": "the house",
		"memory_type": "personal", "evidence": []int{m.Messages[0].Index}, "skill": "insert"}
	for _, s := range m.Stored {
		if strings.HasPrefix(s.Content, fact[:min(len(fact), 12)]) {
			action["type"], action["target"] = "update", s.Handle
		}
	}
	raw, _ := json.Marshal(map[string]any{"actions": []any{action, map[string]any{"type": "delete", "target": "m9"}}})
	return string(raw)
}

func TestASessionIsRememberedSpanBySpan(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	r := buildSession(b, building())
	got := builtBy(b, r.Ref)
	if got.Outcome != run.Completed || got.Spans != 3 || len(got.Added) != 2 || len(got.Updated) != 1 ||
		got.Actions[executor.OutOfRange] != 3 {
		t.Fatalf("%+v", got)
	}
	want := []string{"the house: The greenhouse has two lemon trees.", "the house: The cellar key hangs by the door."}
	if rows := remembers(b, memory.Personal); !slices.Equal(rows, want) {
		t.Errorf("remembered %q", rows)
	}
	// Each revision references its decision, and the decision references its span and skills.
	led := column[string](b, `select m.external_id || ' ' || v.version || ' ' || v.decision_id || ' ' || v.from_seq `+
		`from cairn.memory_revisions v
join cairn.memories m on m.workspace_id = v.workspace_id and m.id = v.memory_id order by v.memory_id, v.version`)
	expect := []string{fmt.Sprintf("%s 1 %s/0 0", got.Added[0], r.Ref.Run),
		fmt.Sprintf("%s 2 %s/1 1", got.Added[0], r.Ref.Run), fmt.Sprintf("%s 1 %s/2 2", got.Added[1], r.Ref.Run)}
	if !slices.Equal(led, expect) {
		t.Errorf("led by %q, want %q", led, expect)
	}
	var decided []learning.Decision
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		decided, err = q.Decisions().Decisions(ctx, r.Ref.Run)
		return err
	})
	if len(decided) != 3 || len(decided[0].Choice.Chosen) != keeping().K || !decided[0].Choice.Greedy ||
		decided[1].Choice.Shown[0] != got.Added[0] || decided[1].Outcome.Actions[0].Skill != "update" {
		t.Errorf("decisions %+v", decided)
	}
	for _, c := range asked(b, "remember") {
		if !strings.Contains(string(c.Body), `"temperature":0`) {
			t.Errorf("asked with another temperature than 0: %.200s", c.Body)
		}
	}
	if again := buildSession(b, building()); again.Ref != r.Ref {
		t.Errorf("the same session is run %s, then %s", r.Ref.Run, again.Ref.Run)
	}
	b.Record(r.WorkflowID, "Build/completed")
}

// If a worker dies after storing a reply and before applying it, the memories equal those of an
// undisturbed build, and no call is paid twice.
func TestABuildSurvivesACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Task: "span/1", Times: 1, Barrier: "second", Drop: true})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	worker := b.StartProcess()
	r := buildSession(b, building())
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "second", 1))
	worker.Kill()
	b.Model.Release("second")
	b.StartProcess()
	if got := builtBy(b, r.Ref); got.Outcome != run.Completed || len(got.Added) != 2 || len(got.Updated) != 1 {
		t.Errorf("%+v", got)
	}
	if n := count(b, "select count(*) from cairn.memory_revisions"); n != 3 {
		t.Errorf("%d revisions, want 3", n)
	}
	if n := count(b, "select count(*) from cairn.llm_calls where stage = 'remember' and state = 'done'"); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

// A span with an unusable reply is reported, and the other spans are remembered.
func TestASpanThatFailsLeavesTheOthersAlone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Task: "span/0", Reply: `{"actions": [{"type": "insert", "cont`})
	b.Model.On(openaitest.Rule{Stage: "remember", Task: "span/1", Refusal: "no"})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	r := buildSession(b, building())
	if got := builtBy(b, r.Ref); got.Outcome != run.CompletedPartial || got.Failed != 2 || len(got.Added) != 1 {
		t.Errorf("%+v", got)
	}
	b.Record(r.WorkflowID, "Build/partial")
}

// A workspace chooses which service builds its memories, and no session is read twice.
func TestAnIdleConversationIsBuiltWhereTheWorkspaceSaysSo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.Model, c.BaseURL, c.APIKey = "", "", "" }) // the offline rules
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().
			PatchSettings(ctx, json.RawMessage(`{"memory":{"builder":"skills","learning":{"explore_per_day":0}}}`))
		return err
	})
	var id int64
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		id, err = q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "c", Messages: []transcript.Message{
			{Seq: 0, Role: transcript.User, Name: "Vera",
				Content: "Hello! I planted nine lemon trees in the greenhouse last spring."},
			{Seq: 1, Role: transcript.Assistant, Content: "How nice! Shall I remind you to water them?"}}}, "chat")
		return err
	})
	read, err := b.Idle.Read(t.Context(), contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
		Conversation: id})
	testkit.Must(t, err)
	if read.Build == "" || read.Summarize != "" {
		t.Fatalf("%+v", read)
	}
	if got := builtBy(b, run.Ref{Workspace: b.Workspace.ID, Run: read.Build}); got.Outcome != run.Completed {
		t.Errorf("%+v", got)
	}
	if rows := remembers(b, memory.Personal); !slices.Equal(rows,
		[]string{"Vera: I planted nine lemon trees in the greenhouse last spring."}) {
		t.Errorf("remembered %q", rows)
	}
	// A correction in a conversation creates one case with the correct answer.
	b.Within(func(ctx context.Context, q store.Tx) error {
		return q.Transcripts().PutMessages(ctx, conversation.Conversation{ID: id, NextSeq: 2}, 1,
			[]transcript.Message{{ID: "2", Role: transcript.User, Content: "How many lemon trees are there?"},
				{ID: "3", Role: transcript.Assistant, Content: "There are two."},
				{ID: "4", Role: transcript.User, Content: "No, it's nine!"}})
	})
	exec(b, "update cairn.conversations set next_seq = 5 where id = $1", id)
	read, err = b.Idle.Read(t.Context(), contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
		Conversation: id})
	testkit.Must(t, err)
	builtBy(b, run.Ref{Workspace: b.Workspace.ID, Run: read.Build})
	if open := openCases(b); len(open) != 1 || open[0].Source != bank.FromCorrection ||
		open[0].Question != "How many lemon trees are there?" || open[0].Prediction != "There are two." ||
		!slices.Equal(open[0].Gold, []string{"nine"}) || !slices.Equal(open[0].Evidence, []int{4}) ||
		open[0].Conversation != id || open[0].Failures != 1 {
		t.Errorf("%+v", open)
	}
	again, err := b.Idle.Read(t.Context(),
		contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Conversation: id})
	testkit.Must(t, err)
	if again.Build != "" {
		t.Errorf("read again: %+v", again)
	}
}

// A reflection builds memories from the conversations of the day, including imported ones, and
// reads no other workspace.
func TestAReflectionHasMemoriesBuiltWhereTheWorkspaceSaysSo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	withSkills(b)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	scriptReflection(b)
	imported(b, "march", talk(t, "2026-03-03 09:00", "The greenhouse has nine lemon trees.", "Good to know.")...)
	for range 2 {
		reflectOn(b, reflection.DateRequest{Date: "2026-03-03"})
		testkit.Eventually(t, "the day is remembered", func() bool { return len(remembers(b, memory.Personal)) == 1 })
		if n := count(b, "select count(*) from cairn.runs where kind = 'build'"); n != 1 {
			t.Errorf("%d builds", n)
		}
	}
}

// A review builds memories at once, not only when the conversation is idle.
func TestAReviewHasMemoriesBuiltWhereTheWorkspaceSaysSo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	exec(
		b,
		`update cairn.workspaces
set settings = '{"memory":{"builder":"skills","skills":{"k":4}},"nudge":{"every":2}}' where id = $1`,
		b.Workspace.ID,
	)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	b.Start()
	b.Say("c", 1, "The greenhouse has nine lemon trees.")
	builds := func() int { return count(b, "select count(*) from cairn.runs where kind = 'build'") }
	if n := builds(); n != 0 {
		t.Errorf("%d builds before the review", n)
	}
	b.Say("c", 2, "The cellar key hangs by the door.")
	reviews(b, "c", 1)
	quiet(b, "c")
	testkit.Eventually(t, "what was said is remembered", func() bool { return len(remembers(b, memory.Personal)) == 1 })
	if n := builds(); n != 1 {
		t.Errorf("%d builds after it", n)
	}
	if rows := remembers(b, memory.Personal); !strings.Contains(rows[0], "The greenhouse has nine lemon trees.") {
		t.Errorf("remembered %q", rows)
	}
	if n := count(b, "select count(*) from cairn.runs where kind in ('summarize', 'specialist')"); n != 0 {
		t.Errorf("agents were asked too, in %d runs", n)
	}
}
