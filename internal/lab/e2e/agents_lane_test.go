package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// Check A4: sessions that are about one target take turns, others do not wait.
func TestOneTargetHasOneWriterAtATime(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	// Both sessions extract the same memory about alice. The second one finds it and changes
	// nothing.
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "remembered about alice", Results: new(0), Barrier: "alice",
		Calls: does(looksFor("Osaka"))(openaitest.Call{}).calls})
	perform(b, "specialist", "remembered about alice", does(looksFor("Osaka")), func(c openaitest.Call) played {
		if strings.Contains(c.Last, "flies from Osaka") {
			return played{text: "It is there."}
		}
		return does(adds("Alice flies from Osaka only."))(c)
	}, says("Done."))
	perform(b, "specialist", "remembered about bob", does(adds("Bob keeps bees.")), says("Done."))
	for _, who := range []string{"alice", "bob"} {
		summarizes(b, who)
	}
	first := summarize(b, chat("I am alice. I fly from Osaka only.", "Noted."))
	second := summarize(b, chat("It is alice again. As I said: only from Osaka.", "Noted."))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "alice", 1)) // one of them is at work
	third := summarize(b, chat("I am bob and I keep bees.", "Noted."))
	if got := summarized(b, third.Ref); got.Status != memoryagent.OK {
		t.Errorf("while alice has a writer, bob's session ended as %+v", got)
	}
	if runs := runsAbout(b, "alice"); len(runs) != 1 {
		t.Errorf("%q asked about alice before the first is answered", runs)
	}
	b.Model.Release("alice")
	summarized(b, first.Ref)
	summarized(b, second.Ref)
	if rows := remembers(b, memory.Personal); len(rows) != 2 {
		t.Errorf("remembered %q", rows)
	}
	if runs := runsAbout(b, "alice"); len(runs) != 2 {
		t.Errorf("the requests of two runs interleave: %q", runs)
	}
}

// runsAbout returns the runs whose requests about a target arrived, with adjacent duplicates
// removed. A request can arrive again if its worker seemed dead.
func runsAbout(b *apptest.Bundle, who string) (runs []string) {
	for _, c := range specialists(b, "remembered about "+who) {
		runs = append(runs, c.Run)
	}
	return slices.Compact(runs)
}

// summarizes scripts the meta-summarizer for the sessions that mention a person.
func summarizes(b *apptest.Bundle, who string) {
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: new(0), Match: who,
		Calls: does(addMeta("personal/"+who), addSummary("About "+who+"."),
			handsOff("personal/"+who))(openaitest.Call{}).calls})
	b.Model.On(openaitest.Rule{Stage: "summarize", Last: llm.RoleTool, Reply: "Done."})
}

func specialists(b *apptest.Bundle, system string) (out []openaitest.Call) {
	for _, c := range asked(b, "specialist") {
		if strings.Contains(c.Messages[0].Content, system) {
			out = append(out, c)
		}
	}
	return out
}

// The load of tool calls is bounded: a workflow timer separates the starts of the calls of one
// response.
func TestCallsOfAResponseAreSpacedWhenThatIsWanted(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"memory":{"call_pause_ms":300}}' where id = $1`, b.Workspace.ID)
	perform(b, "summarize", "", does(handsOff("personal/alice"), addSummary("About alice."), addMeta("personal/alice")),
		says("Done."))
	perform(b, "specialist", "", does(adds("Alice flies from Osaka only."), adds("Alice keeps bees.")), says("Done."))
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if got.Status != memoryagent.OK || len(got.Tasks) != 1 || len(got.Tasks[0].Added) != 2 {
		t.Fatalf("%+v", got)
	}
	var at []time.Time
	for _, e := range b.History(column[string](b, "select workflow_id from cairn.runs where kind = 'specialist'")[0],
		"").Events {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "RunTool" {
			at = append(at, e.EventTime.AsTime())
		}
	}
	if len(at) != 2 || at[1].Sub(at[0]) < 300*time.Millisecond {
		t.Errorf("the calls were begun at %v", at)
	}
}

// An agent may not call think_tool twice in a row: the next request does not offer it.
func TestAReflectionIsNotFollowedByAnother(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"memory":{"thinking":"tool"}}' where id = $1`, b.Workspace.ID)
	thinks := func(text string) func(openaitest.Call) played {
		return does(saying("think_tool", object{"reflection": text}))
	}
	perform(b, "summarize", "", thinks("first"), thinks("second"), thinks("third"), says(memoryagent.NoMemoryNeeded))
	got := summarized(b, summarize(b, chat("hello", "hi")).Ref)
	if got.Status != memoryagent.NoMemory {
		t.Errorf("%+v", got)
	}
	requests := asked(b, "summarize")
	for i, want := range []bool{true, false, true, false} {
		offered := false
		for _, tool := range requests[i].Tools {
			offered = offered || tool.Name == "think_tool"
		}
		if offered != want {
			t.Errorf("request %d offers think_tool: %t", i+1, offered)
		}
	}
	told := results(t, requests[3])
	if told[0]["ok"] != true || told[1]["ok"] != false || told[1]["error"].(object)["code"] != "unknown_tool" {
		t.Errorf("told %v", told)
	}
}

// After twenty responses with tool calls, the next request offers no tools.
func TestWhoDoesNotStopIsAskedForAReport(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "summarize", Choice: llm.ChooseNone, Reply: "That is how far I came."})
	perform(b, "summarize", "", func(c openaitest.Call) played {
		return does(addMeta("personal/person " + string(rune('a'+c.Results()))))(c)
	})
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if got.Status != memoryagent.Partial || got.Reason != "budget" || got.Text != "That is how far I came." ||
		got.Steps != 20 || len(got.MetaAdded) != 19 {
		t.Errorf("%d steps, %d targets: %+v", got.Steps, len(got.MetaAdded), got)
	}
	validThreads(t, b)
}
