package e2e_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// filled opens a Cairn that has summarized a session about alice and deploy.
func filled(t *testing.T) *apptest.Bundle {
	t.Helper()
	b := apptest.Open(t)
	scriptDeploying(b)
	if got := summarized(b, summarize(b, chat(deploying()...)).Ref); got.Status != memoryagent.OK {
		t.Fatalf("%+v", got)
	}
	return b
}

// Check A7: a model sees targets first, memories after a search, and transcripts after a read.
func TestRetrievalDisclosesStepByStep(t *testing.T) {
	t.Parallel()
	b := filled(t)
	history := column[string](b, "select id from cairn.memory_histories")[0]
	perform(b, "retrieve", "",
		does(saying("vector_retrieve_memory",
			object{"query_items": []object{{"memory_type": "personal", "memory_target": "alice",
				"query": "where Alice flies from"},
				{"memory_type": "procedural", "memory_target": "deploy", "query": "smoke test"}}})),
		does(saying("read_history_memory", object{"memory_ids": []string{history}})), says("From Osaka."))
	got := retrieve(b, "Where does Alice fly from?", memoryagent.Agentic)
	if got.Mode != memoryagent.Agentic || got.Status != memoryagent.OK || got.Text != "From Osaka." ||
		len(got.Memories) < 2 || len(got.Sessions) != 1 {
		t.Fatalf("%+v", got)
	}
	requests := asked(b, "retrieve")
	shown := func(c openaitest.Call) (all string) {
		for _, m := range c.Messages {
			all += m.Content + "\n"
		}
		return all
	}
	for i, want := range []struct{ meta, memories, transcript bool }{{true, false, false}, {true, true, false},
		{true, true, true}} {
		text := shown(requests[i])
		if strings.Contains(text, "- personal(alice): ") != want.meta ||
			strings.Contains(text, "flies from Osaka only") != want.memories ||
			strings.Contains(text, "I only fly from Osaka") != want.transcript {
			t.Errorf("request %d shows %s", i+1, text)
		}
		if strings.Contains(text, "- identity(self)") || !strings.Contains(text, "- tool(tool_guidelines)") {
			t.Errorf("request %d: tool has a line, identity has none: %s", i+1, text)
		}
	}
	if !strings.Contains(shown(requests[1]), "ref_memory_id="+history) {
		t.Errorf("no line leads to the session: %s", shown(requests[1]))
	}
	b.Record(column[string](b, "select workflow_id from cairn.runs where kind = 'retrieve'")[0], "Retrieve/ok")
}

func TestRetrievalFallsBackToASearch(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := filled(t)
	asks := len(b.Model.Requests())
	fast := retrieve(b, "Where does Alice fly from?", memoryagent.Fast)
	if fast.Mode != memoryagent.Fast || len(fast.Memories) == 0 ||
		!strings.Contains(fast.Memories[0].Content, "Osaka") || len(b.Model.Requests()) != asks {
		t.Errorf("%+v", fast)
	}
	starter := b.Progressive.Starter
	b.Progressive.Starter = nil // Temporal is away
	away := retrieve(b, "Where does Alice fly from?", memoryagent.Agentic)
	b.Progressive.Starter = starter
	if away.Mode != memoryagent.Fast || away.Note == "" || len(away.Memories) == 0 {
		t.Errorf("without Temporal: %+v", away)
	}
	perform(b, "retrieve", "", says(memoryagent.NoRelevantMemory))
	if got := retrieve(b, "What is the capital of Peru?", memoryagent.Auto); got.Mode != memoryagent.Agentic ||
		got.Status != memoryagent.NoRelevant {
		t.Errorf("little was found, and %+v", got)
	}
}

func TestNothingIsAskedOfAnEmptyMemory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	if got := retrieve(b, "anything", memoryagent.Agentic); got.Status != memoryagent.NoRelevant ||
		len(b.Model.Requests()) != 0 || got.Run != "" {
		t.Errorf("%+v after %d requests", got, len(b.Model.Requests()))
	}
}

// The agent remy answers turns from long-term memory, in workspaces that choose it.
func TestRemyLooksIntoLongTermMemory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := filled(t)
	exec(b, `update cairn.workspaces set settings = '{"agent":"remy"}' where id = $1`, b.Workspace.ID)
	perform(b, "turn", "", does(saying("vector_retrieve_memory",
		object{"query_items": []object{{"memory_type": "personal", "memory_target": "alice",
			"query": "where Alice flies from"}}, "workspace_id": "other"})), says("From Osaka."))
	if got := b.Say("c", 1, "Where do I fly from?"); got.Reply != "From Osaka." {
		t.Errorf("%+v", got)
	}
	requests := asked(b, "turn")
	if system := requests[0].Messages[0].Content; !strings.Contains(system, "- personal(alice): ") ||
		strings.Contains(system, "flies from Osaka only") {
		t.Errorf("the prompt is %s", system)
	}
	if last := requests[1].Last; !strings.Contains(last, "flies from Osaka only") {
		t.Errorf("it found %s", last)
	}
}

// A conversation that goes idle is read automatically, each message once.
func TestAnIdleConversationIsReadOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	perform(b, "summarize", "", does(addSummary("Somebody talked.")), says("Done."))
	say := func(n int, text string) { b.Say("c", n, text) }
	say(1, "I keep bees.")
	say(2, "And goats.")
	id := view(b, "c").ID
	read := func() { // what the workflow does when the silence is long enough
		_, err := b.Idle.Read(t.Context(), contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
			Conversation: id})
		testkit.Must(t, err)
	}
	runs := func(kind run.Kind) []string {
		return column[string](b, "select id from cairn.runs where kind = $1 and status = 'ended'", kind)
	}
	read()
	testkit.Eventually(t, "the first part is summarised", func() bool { return len(runs(run.Summarize)) == 1 })
	read() // nothing new
	if n := count(b, "select count(*) from cairn.runs where kind = 'distill'"); n != 0 {
		t.Errorf("%d distillations of four messages", n)
	}
	say(3, "The goats eat the flowers of the bees.")
	read()
	testkit.Eventually(t, "the second part is summarised", func() bool { return len(runs(run.Summarize)) == 2 })
	testkit.Eventually(t, "six messages are distilled", func() bool { return len(runs(run.Distill)) == 1 })
	read()
	if n := count(b, "select count(*) from cairn.runs where kind in ('summarize', 'distill')"); n != 3 {
		t.Errorf("%d runs", n)
	}
	ranges := column[int](b, "select from_seq * 100 + to_seq from cairn.memory_histories order by from_seq")
	if len(ranges) != 2 || ranges[0] != 3 || ranges[1] != 405 {
		t.Errorf("the sessions are %v", ranges)
	}
	if n := len(remembers(b, memory.Summary)); n == 0 {
		t.Error("no digest is left")
	}
}

// The idle time itself starts the reading.
func TestSilenceHasAConversationRead(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	perform(b, "summarize", "", does(addSummary("Somebody talked.")), says("Done."))
	request := b.Message("c", "m1", "I keep bees.")
	accepted, err := b.App.Inbox.Accept(t.Context(), request)
	testkit.Must(t, err)
	exec(b, `update cairn.runs set spec = jsonb_set(spec, '{idle}', '200000000') where id = $1`, accepted.Run.Ref.Run)
	b.Say("c", 1, "I keep bees.") // the same message: its run says what silence is long
	testkit.Eventually(t, "the conversation is summarised", func() bool {
		return count(b, "select count(*) from cairn.runs where kind = 'summarize' and status = 'ended'") == 1
	})
}
