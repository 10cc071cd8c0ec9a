package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/conversation"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Check 12: a model that always calls tools.
func TestAModelThatNeverStopsIsStopped(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	cairn := apptest.Open(t)
	for _, c := range []struct {
		channel  string
		override int
		calls    int
	}{
		{"voice", 0, 6}, {"sms", 0, 10}, {"chat", 0, 10}, {"scheduled", 0, 15}, {"chat", 3, 3}, {"voice", 3, 3},
		{"voice", 1, 1}, {"chat", 1, 1},
	} {
		t.Run(fmt.Sprintf("%s %d", c.channel, c.override), func(t *testing.T) {
			b := cairn.Part(t)
			// even now
			b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "That is all that I know.",
				CallsFunc: looking})
			b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: looking})
			got := b.Say("c", 1, "Find it.", on(c.channel), wall(time.Minute), func(r *conversation.Request) {
				r.MaxTurns = c.override
			})

			if got.Reason != "budget" || got.Reply != "That is all that I know." {
				t.Errorf("answered %+v", got)
			}
			requests := asked(b, "turn")
			if len(requests) != c.calls {
				t.Fatalf("%d requests, want %d", len(requests), c.calls)
			}
			for i, r := range requests {
				if last := i == len(requests)-1; last != (r.Choice == llm.ChooseNone) {
					t.Errorf("request %d has tool choice %q", i+1, r.Choice)
				}
				if len(r.Tools) != len(requests[0].Tools) || len(r.Tools) == 0 {
					t.Errorf("request %d offers %d tools, the first %d", i+1, len(r.Tools), len(requests[0].Tools))
				}
			}
			if last := requests[len(requests)-1]; c.calls > 1 && !strings.Contains(last.Last, "final answer") {
				t.Errorf("the last request ends with %q", last.Last)
			}
			validThreads(t, b)
			if n := count(b, "select count(*) from cairn.agent_calls where result is null"); n != 0 {
				t.Errorf("%d calls have no result", n)
			}
		})
	}
}

// The spent budget of a turn can be read while it runs.
func TestABudgetIsSeenWhileItsTurnRuns(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int), CallsFunc: looking})
	b.Model.On(openaitest.Rule{Stage: "turn", Barrier: "held", Reply: "All right."})
	send(b, b.Message("c", "m1", "What do I drink?"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	answer, err := b.Temporal.QueryWorkflow(t.Context(), turnID(b, "c", "m1"), "", contract.QueryState)
	testkit.Must(t, err)
	var state agent.State
	testkit.Must(t, answer.Get(&state))
	if state.Budget.Max != 10 || state.Budget.Used != 2 || state.Step != 2 || state.Ending != "" {
		t.Errorf("state %+v", state)
	}
	b.Model.Release("held")
	answered(b, "c", "m1")
}

func TestAFinalCallThatFailsIsAnsweredInOurWords(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	cairn := apptest.Open(t)
	for name, c := range map[string]struct {
		said, want string
		failure    openaitest.Rule
	}{
		"failure":      {"", "Reply CONTINUE", openaitest.Rule{Status: http.StatusBadRequest, Reply: "no"}},
		"nothing said": {"", "Reply CONTINUE", openaitest.Rule{Reply: ""}},
		"what it had said before": {"It is in the attic, I think.", "in the attic",
			openaitest.Rule{Status: http.StatusBadRequest, Reply: "no"}},
		"said before, and nothing": {"It is in the attic, I think.", "in the attic", openaitest.Rule{Reply: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			b := cairn.Part(t)
			c.failure.Stage, c.failure.Choice = "turn", llm.ChooseNone
			b.Model.On(c.failure)
			b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int),
				Calls: []llm.ToolCall{saying("memory_save",
					map[string]string{"content": "The keys are in the attic."})}, Reply: c.said})
			b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: looking})
			got := b.Say("c", 1, "Where are the keys?", on("sms"), func(r *conversation.Request) { r.MaxTurns = 2 })
			if got.Reason != "budget" || !strings.Contains(got.Reply, c.want) {
				t.Errorf("answered %+v", got)
			}
			if c.said == "" && !strings.Contains(got.Reply, "memory_save") {
				t.Errorf("%q does not tell what was done", got.Reply)
			}
		})
	}
}

func TestAModelThatIsAwayIsToldOf(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Status: http.StatusUnauthorized, Reply: "bad key"})
	got := b.Say("c", 1, "Hello?")
	if got.Reason != "provider_error" || !strings.Contains(got.Reply, "does not respond") {
		t.Errorf("answered %+v", got)
	}
}

// A model call with an unusable reply is one of the budget.
func TestEmptyRepliesDoNotExtendTheBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "Enough."})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: ""})
	got := b.Say("c", 1, "Hello?", func(r *conversation.Request) { r.MaxTurns = 3 })
	if n := b.Model.Count("turn"); n != 3 || got.Reply != "Enough." {
		t.Errorf("%d requests, answered %+v", n, got)
	}
}

func TestATurnWhoseTimeIsUpIsAnswered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int),
		Calls: []llm.ToolCall{saying("memory_search", map[string]string{"query": "keys"})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Barrier: "never", Reply: "too late"})
	got := b.Say("c", 1, "Where are the keys?", on("voice"), wall(time.Second))
	if got.Reason != "wall_clock" || !strings.Contains(got.Reply, "in time") {
		t.Errorf("answered %+v", got)
	}
	b.Model.Release("never")
	if again := b.Say("c", 1, "Where are the keys?", on("voice"), wall(time.Second)); again != got {
		t.Errorf("then %+v", again)
	}
}

func TestACancelledTurnIsAnswered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int), Match: "first",
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada likes tea."})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Barrier: "held", Reply: "too late"})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "third", Reply: "Yes."})
	send(b, b.Message("c", "m1", "the first"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	send(b, b.Message("c", "m2", "the second"))
	id := view(b, "c").ID
	testkit.Eventually(t, "the second waits", func() bool {
		v, err := b.Driver.State(t.Context(), b.Workspace.Key, id)
		return err == nil && v.Busy == 2 && v.Answers == "m1"
	})
	cancel(b, "c", "m2") // while it waits
	cancel(b, "c", "m1")
	first, second := answered(b, "c", "m1"), answered(b, "c", "m2")
	if first.Reason != "interrupted" || !strings.Contains(first.Reply, "memory_save") ||
		second.Reason != "interrupted" {
		t.Errorf("answered %+v and %+v", first, second)
	}
	b.Model.Release("held")
	if third := b.Say("c", 3, "the third"); third.Reply != "Yes." {
		t.Errorf("then %+v", third)
	}
	if n := view(b, "c").Counters.Total; n != 1 {
		t.Errorf("%d turns were counted, want the one that was not interrupted", n)
	}
	validThreads(t, b)
}

func TestASpentDayIsToldOf(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello.", Usage: &llm.Usage{Input: 900, Output: 200}})
	exec(b, `update cairn.workspaces set settings = '{"tokens_per_day": 20000}' where id = $1`, b.Workspace.ID)
	b.Say("c", 1, "Hello")
	exec(b, "update cairn.llm_calls set input_tokens = 20000")
	got := b.Say("c", 2, "Hello again")
	if got.Reason != "over_budget" || !strings.Contains(got.Reply, "budget is spent") || b.Model.Count("turn") != 1 {
		t.Errorf("answered %+v after %d requests", got, b.Model.Count("turn"))
	}
}

func TestTheSameCallAgainAndAgainIsBroken(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "I found nothing."})
	b.Model.On(openaitest.Rule{Stage: "turn",
		Calls: []llm.ToolCall{saying("memory_search", map[string]string{"query": "keys"})}})
	got := b.Say("c", 1, "Where are the keys?")
	// Two calls run, the third is withheld, and the fourth ends the turn.
	if got.Reason != "guardrail" || got.Reply != "I found nothing." || b.Model.Count("turn") != 5 {
		t.Errorf("answered %+v after %d requests", got, b.Model.Count("turn"))
	}
	if n := count(b, "select count(*) from cairn.agent_calls where code in ('repeated', 'guardrail')"); n != 2 {
		t.Errorf("%d calls were withheld, want 2", n)
	}
	validThreads(t, b)
}

// Every tool call gets a result, whatever its name and arguments.
func TestEveryCallIsAnswered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.ToolTimeout = time.Second })
	unlock := lockMemories(b)
	defer unlock()
	long := strings.Repeat("x", 3000)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int), Calls: []llm.ToolCall{
		{Name: "launch_rocket" + long, Arguments: "{}"}, {Name: "memory_search", Arguments: `{"query": `},
		{Name: "memory_search", Arguments: `[1]`}, {Name: "memory_search"},
		{Name: "memory_save", Arguments: `{"content":"It takes too long."}`},
		{Name: "memory_search", Arguments: `{"query":"tea"}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Done."})
	if got := b.Say("c", 1, "Go."); got.Reply != "Done." {
		t.Fatalf("answered %+v", got)
	}
	last := asked(b, "turn")[1]
	var results []string
	for _, m := range last.Messages {
		if m.Role == llm.RoleTool {
			results = append(results, m.Content)
		}
	}
	want := []string{"unknown_tool", "not a JSON object", "invalid_argument", "invalid_argument", "timed out",
		`"ok":true`}
	if len(results) != len(want) {
		t.Fatalf("%d results: %q", len(results), results)
	}
	for i, w := range want {
		if !strings.Contains(results[i], w) {
			t.Errorf("call %d was answered with %s, want %q in it", i, results[i], w)
		}
	}
	validThreads(t, b)
}

// If the workspace wants it, a scheduled task is informed once of its remaining budget. Other
// runs are not.
func TestAScheduledTurnIsToldOfItsCheckpoint(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "That is all that I know.",
		CallsFunc: looking})
	b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: looking})
	choose := func(patch string) {
		testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(_ context.Context, q store.Tx) error {
			_, err := q.Workspaces().PatchSettings(t.Context(), json.RawMessage(patch))
			return err
		}))
	}
	told := func() (at []int) {
		n := 0
		for _, r := range asked(b, "turn") {
			if n++; strings.HasPrefix(r.Last, "After this response you have ") {
				at = append(at, n)
			}
		}
		return at
	}
	b.Say("c", 1, "Find it.", on("scheduled"), wall(time.Minute), func(r *conversation.Request) { r.MaxTurns = 4 })
	choose(`{"scheduled_checkpoint":true}`)
	b.Say("d", 1, "Find it.", on("chat"), wall(time.Minute), func(r *conversation.Request) { r.MaxTurns = 4 })
	if at := told(); len(at) != 0 {
		t.Errorf("told in requests %v", at)
	}
	before := len(asked(b, "turn"))
	b.Say("e", 1, "Find it.", on("scheduled"), wall(time.Minute), func(r *conversation.Request) { r.MaxTurns = 4 })
	if at := told(); len(at) != 1 || at[0] != before+3 {
		t.Errorf("told in requests %v, want the third after %d", at, before)
	}
	last := asked(b, "turn")[len(asked(b, "turn"))-1]
	if n := strings.Count(fmt.Sprint(last.Messages), "After this response you have 1 left."); n != 1 {
		t.Errorf("the note stands %d times in what follows", n)
	}
	validThreads(t, b)
}
