package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// deploying returns a session about a person and a domain.
func deploying() []string {
	return []string{"Hi, I am Alice and I only fly from Osaka.", "Noted.",
		"Our deploys to quartz-2 need a smoke test before traffic.", "I ran it and it passed."}
}

// scriptDeploying scripts all steps: register and digest, hand off, report.
func scriptDeploying(b *apptest.Bundle) {
	perform(b, "summarize", "",
		does(handsOff("personal/alice", "procedural/deploy"),
			addSummary("Alice told where she flies from and how deploys go."),
			addMeta("personal/alice", "procedural/deploy")),
		does(handsOff("personal/alice", "procedural/deploy")), says("Alice and deploy are up to date."))
	perform(b, "specialist", "remembered about alice", does(looksFor("airport")),
		does(adds("Alice flies from Osaka only.")), says("One added."))
	perform(b, "specialist", "done in deploy", does(looksFor("smoke test")),
		does(adds("Run a smoke test before traffic moves to the host.")), says("One added."))
}

// Check A2: the session is stored before the first model call. A target can be registered and
// used for a hand-off in the same response. The result reports all steps.
func TestASessionBecomesMemoriesOfItsTargets(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "summarize", Times: 1, Barrier: "first",
		CallsFunc: func(openaitest.Call) []llm.ToolCall {
			return does(handsOff("personal/alice"), addSummary("Alice told where she flies from and how deploys go."),
				addMeta("personal/alice", "procedural/deploy"))(openaitest.Call{}).calls
		}})
	scriptDeploying(b)
	r := summarize(b, chat(deploying()...))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "first", 1))
	if n := count(b, "select count(*) from cairn.memory_histories"); n != 1 {
		t.Errorf("%d sessions are kept before the first response", n)
	}
	b.Model.Release("first")
	got := summarized(b, r.Ref)
	if got.Status != memoryagent.OK || len(got.Tasks) != 2 || got.Digest == "" || got.Fallback ||
		len(got.MetaAdded) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, task := range got.Tasks {
		if task.Status != memoryagent.OK || len(task.Added) != 1 || task.Note != "One added." {
			t.Errorf("task %+v", task)
		}
	}
	if rows := slices.Concat(remembers(b, memory.Personal), remembers(b, memory.Procedural)); !slices.Equal(rows,
		[]string{"alice: Alice flies from Osaka only.", "deploy: Run a smoke test before traffic moves to the host."}) {
		t.Errorf("remembered %q", rows)
	}
	if n := count(b, "select count(*) from cairn.memories where history_id = '"+got.History+
		"' and author like 'scripted@%' and status = 'active'"); n != 3 {
		t.Errorf("%d memories lead to the session and name their author", n)
	}
	if targets := column[[]string](b, "select targets from cairn.memories where type = 'summary'"); len(targets) != 1 ||
		!slices.Equal(targets[0], []string{"personal/alice", "procedural/deploy"}) {
		t.Errorf("the digest is found under %q", targets)
	}
	summaries := asked(b, "summarize")
	if len(summaries) != 3 {
		t.Fatalf("%d responses of the meta-summarizer", len(summaries))
	}
	for i, want := range []bool{false, true} {
		system := summaries[i].Messages[0].Content
		for _, line := range []string{"\n- personal(alice): ", "\n- procedural(deploy): "} {
			if strings.Contains(system, line) != want {
				t.Errorf("before response %d the list has %q: %t", i+1, line, !want)
			}
		}
	}
	for _, c := range asked(b, "specialist") {
		if !strings.Contains(c.Messages[1].Content, "I only fly from Osaka") {
			t.Errorf("a specialist is not shown the session: %q", c.Messages[1].Content)
		}
	}
	again := summarize(b, chat(deploying()...))
	if again.Ref != r.Ref || len(asked(b, "summarize")) != 3 {
		t.Errorf("the same request made run %s", again.Ref.Run)
	}
	validThreads(t, b)
	b.Record(got.WorkflowID, "Summarize/ok")
	for _, id := range column[string](b, "select workflow_id from cairn.runs where kind = 'specialist' "+
		"order by created_at limit 1") {
		b.Record(id, "Specialist/ok")
	}
}

// A failed specialist fails neither its siblings nor the run, and is reported. A session without
// a digest can still be found.
func TestWhatFailsIsToldAndFailsNothingElse(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	perform(b, "summarize", "", does(addMeta("personal/alice", "personal/bob")),
		does(handsOff("personal/alice", "personal/bob", "personal/nobody", "tool/any")), says("Partly."))
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "remembered about bob", Status: 400})
	perform(b, "specialist", "remembered about alice", does(adds("Alice flies from Osaka only.")), says("One added."))
	perform(b, "specialist", "guidelines for tools", says(memoryagent.NoMemoryNeeded))
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if got.Status != memoryagent.Partial || !got.Fallback || got.Digest == "" || len(got.Tasks) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []string{memoryagent.OK, memoryagent.Failed, memoryagent.NoMemory} {
		if task := got.Tasks[i]; task.Status != want || (want == memoryagent.Failed) != (task.Error != "") {
			t.Errorf("task %d: %+v", i, task)
		}
	}
	if rows := remembers(b, memory.Personal); !slices.Equal(rows, []string{"alice: Alice flies from Osaka only."}) {
		t.Errorf("remembered %q", rows)
	}
	if digest := remembers(b, memory.Summary); len(digest) != 1 || !strings.Contains(digest[0], "Hi, I am Alice") {
		t.Errorf("the digest is %q", digest)
	}
	told := results(t, asked(b, "summarize")[2])
	last := told[len(told)-1]
	if last["ok"] != true || last["status"] != memoryagent.Partial || len(last["tasks"].([]any)) != 3 ||
		len(last["rejected"].([]any)) != 1 {
		t.Errorf("the meta-summarizer is told %v", last)
	}
}

func TestASessionWithNothingInItLeavesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	perform(b, "summarize", "", says("Small talk. "+memoryagent.NoMemoryNeeded))
	got := summarized(b, summarize(b, chat("hello", "hi")).Ref)
	if got.Status != memoryagent.NoMemory || got.Digest != "" || len(got.Tasks) != 0 {
		t.Errorf("%+v", got)
	}
	if outcome := column[string](b, "select outcome from cairn.runs"); outcome[0] != string(run.NothingToExtract) {
		t.Errorf("the run ended as %q", outcome)
	}
}

// A workspace can choose another registered version of an agent.
func TestAWorkspaceChoosesTheVersionOfAnAgent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	second := memoryagent.Definition{Kind: run.Specialist, Type: memory.Personal, Version: "v2",
		Prompt: "specialist_personal", Profile: tools.Specialist(memory.Personal), Calls: 2, Wall: time.Minute}
	testkit.Must(t, b.Progressive.Registry.Register(second))
	if err := b.Progressive.Registry.Register(second); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("registered twice: %v", err)
	}
	exec(b, `update cairn.workspaces set settings = '{"memory":{"agents":{"personal":"v2"}}}' where id = $1`,
		b.Workspace.ID)
	scriptDeploying(b)
	b.Model.On(openaitest.Rule{Stage: "specialist", Choice: llm.ChooseNone, Reply: "Out of steps."})
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if len(got.Tasks) != 2 {
		t.Fatalf("%+v", got)
	}
	versions := column[string](b, "select (spec->'pinned'->>'memory_type') || ' ' || (spec->'pinned'->>'version') "+
		"|| ' ' || (spec->'budget'->>'max') from cairn.runs where kind = 'specialist' order by 1")
	if !slices.Equal(versions, []string{"personal v2 2", "procedural v1 20"}) {
		t.Errorf("the specialists are %q", versions)
	}
}

// Canceling a request stops it: no more model calls, and the changes so far stay and are
// reported.
func TestACancelledRequestTellsWhatWasDone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	perform(b, "summarize", "", does(addMeta("personal/alice"), handsOff("personal/alice")), says("Done."))
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(1), Times: 1, Barrier: "second", Drop: true})
	perform(b, "specialist", "", does(adds("Alice flies from Osaka only.")), does(adds("Alice keeps bees.")),
		says("Added."))
	r := summarize(b, chat(deploying()...))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "second", 1)) // the first memory is written
	testkit.Must(t, b.Temporal.CancelWorkflow(t.Context(), r.WorkflowID, ""))
	got := summarized(b, r.Ref)
	b.Model.Release("second")
	if got.Reason != agent.Interrupted || got.Status == memoryagent.OK || len(got.Tasks) != 1 ||
		got.Tasks[0].Status != memoryagent.Partial || len(got.Tasks[0].Added) != 1 {
		t.Errorf("%+v", got)
	}
	if rows := remembers(b, memory.Personal); !slices.Equal(rows, []string{"alice: Alice flies from Osaka only."}) {
		t.Errorf("remembered %q", rows)
	}
	if n := len(asked(b, "specialist")); n != 2 {
		t.Errorf("%d requests of the specialist", n)
	}
}
