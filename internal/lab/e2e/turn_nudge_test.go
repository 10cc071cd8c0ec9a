package e2e_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
	"cairn/workflows"
)

// from sets the origin of a message.
func from(origin string) func(*conversation.Request) {
	return func(r *conversation.Request) { r.Origin = origin }
}

// scriptSaves makes the model save the fact in a message.
func scriptSaves(b *apptest.Bundle) {
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "^remember ",
		CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			return []llm.ToolCall{saying("memory_save",
				map[string]string{"content": strings.TrimPrefix(c.Last, "remember ")})}
		}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "<NO_MEMORY_NEEDED>"}) // when the conversation has ended
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
}

// quiet waits until the conversation has no review in flight.
func quiet(b *apptest.Bundle, conversationID string) {
	b.T.Helper()
	id := view(b, conversationID).ID
	testkit.Eventually(b.T, "no review is in flight", func() bool {
		v, err := b.Driver.State(b.T.Context(), b.Workspace.Key, id)
		return err == nil && v.Counters.InFlight == 0
	})
}

func numbers(reviews []domainconversation.ReviewView) (out []int) {
	for _, r := range reviews {
		out = append(out, r.Turn)
	}
	return out
}

// Check 8: each user message is counted once, even if workers or the workflow of the
// conversation fail.
func TestReviewsComeExactlyWhenTheyAreDue(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) { c.ConversationTurns = 9 })
	worker := b.StartProcess()
	exec(b, `update cairn.workspaces set settings = '{"redact_turns":false}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "^hold on", Barrier: "held", Reply: "too late"})
	b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1,
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada works at night."})}})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	scriptSaves(b)
	secret := "remember the key sk-" + strings.Repeat("aB3dE6gH", 3)
	n := 0
	say := func(text string, change ...func(*conversation.Request)) domainconversation.TurnStatus {
		n++
		return b.Say("c", n, text, change...)
	}
	for range 5 {
		say("hello")
	}
	b.Say("c", 5, "hello") // again
	say("the daily report", from("scheduled"))
	say("tick", from("heartbeat"))
	say("hello")
	say(secret)   // fails: it counts, and resets nothing; the ninth of this execution, which continues as new
	worker.Kill() // after the seventh that counts
	b.StartProcess()
	say("hello") // 8
	say("hello") // 9
	if got := count(b, "select count(*) from cairn.runs where kind = 'nudge'"); got != 0 {
		t.Fatalf("%d reviews after nine turns that count", got)
	}
	id := contract.ConversationID(b.Workspace.Key, view(b, "c").ID)
	full := previous(b, id, "")
	if full == "" {
		t.Fatal("the conversation has not continued as new")
	}
	say("hello") // 10
	first := reviews(b, "c", 1)
	quiet(b, "c")
	if r := first[0]; len(first) != 1 || r.Turn != 10 || r.Status != agentrun.NudgeSaved || len(r.Writes) != 1 {
		t.Fatalf("reviews %+v", first)
	}
	// 11: saved without a review
	if got := say("remember Ada likes tea."); !strings.HasSuffix(got.Reply, "(Saved: 1 memory)") {
		t.Errorf("the next answer is %q", got.Reply)
	}
	if got := say("remember Ada likes tea."); strings.Contains(got.Reply, "Saved") { // 12: unchanged
		t.Errorf("the notice came again: %q", got.Reply)
	}
	send(b, b.Message("c", "m-held", "hold on"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	cancel(b, "c", "") // whichever is being answered
	answered(b, "c", "m-held")
	for range 8 { // to 20: ten since the review for skills, nine since the save for memories
		say("hello")
	}
	reviews(b, "c", 2)
	quiet(b, "c")
	say("hello") // 21
	reviews(b, "c", 3)
	quiet(b, "c")
	say("hello")
	say("hello")
	if got := numbers(reviews(b, "c", 3)); !slices.Equal(got, []int{10, 20, 21}) {
		t.Errorf("reviews after the turns %v that count", got)
	}
	for i, wants := range [][2]bool{{true, true}, {}, {false, true}, {true, false}} { // the first review has two steps
		system := asked(b, "nudge")[i].Messages[0].Content
		if i != 1 && (strings.Contains(system, "# Memories") != wants[0] ||
			strings.Contains(system, "# Skills") != wants[1]) {
			t.Errorf("request %d for reviews does not ask for what is due: %s", i, system)
		}
	}
	if c := view(b, "c").Counters; c.Total != 23 || c.LastReviewed != 21 {
		t.Errorf("the row counts %+v", c)
	}
	validThreads(t, b)

	// The first execution answered nine messages, including scheduled ones, or one more that
	// arrived while the ninth ended. The next execution started the review. Both replay.
	h := b.History(id, full)
	answered := happened(h, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED)
	if last := h.Events[len(h.Events)-1]; last.EventType != enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW ||
		answered < 9 || answered > 10 {
		t.Errorf("the first execution answered %d messages and ended with %s", answered, last.EventType)
	}
	next := b.History(id, h.Events[len(h.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().
		GetNewExecutionRunId())
	if n := reviewsStarted(next); n == 0 || reviewsStarted(h) != 0 {
		t.Errorf("%d reviews were started by the first execution and %d by the one that it continued as",
			reviewsStarted(h), n)
	}
	for _, h := range []*historypb.History{h, next} {
		replays(t, h)
	}
}

// happened returns the number of events of a type in a history.
func happened(h *historypb.History, event enums.EventType) (n int) {
	for _, e := range h.Events {
		if e.EventType == event {
			n++
		}
	}
	return n
}

// reviewsStarted returns the number of reviews that the server has confirmed in a history.
func reviewsStarted(h *historypb.History) (n int) {
	for _, e := range h.Events {
		if e.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() == contract.Nudge {
			n++
		}
	}
	return n
}

// replays checks that the current workflows decide as in a history.
func replays(t *testing.T, h *historypb.History) {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	workflows.Register(replayer)
	if err := replayer.ReplayWorkflowHistory(temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		h); err != nil {
		t.Error(err)
	}
}

// observed returns an exchange that the caller's agent has answered.
func observed(b *apptest.Bundle, conversationID string, n int, answer string) conversation.Request {
	r := b.Message(conversationID, fmt.Sprintf("m%d", n), "")
	r.Mode, r.Messages = contract.Observe, []transcript.Message{{Role: transcript.User, Content: "hello"},
		{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"},
			{ID: "b", Name: "ls", Arguments: "{}"}}},
		{Role: transcript.Tool, ToolCallID: "b", Content: "a file"},
		{Role: transcript.Tool, ToolCallID: "zzz", Content: "stray"}, {Role: transcript.Assistant, Content: answer}}
	return r
}

func TestWhatAnotherAgentAnsweredIsCountedAndReviewed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "I am Cairn."})
	for i := range 11 {
		answer := "hi"
		if i == 4 {
			answer = "" // never delivered
		}
		got, err := b.App.Messages.SendMessage(t.Context(), observed(b, "c", i, answer))
		testkit.Must(t, err)
		if got.Status != "ended" || got.Reason != "observed" || got.Reply != answer {
			t.Fatalf("exchange %d: %+v", i, got)
		}
	}
	if got := reviews(b, "c", 1); len(got) != 1 || got[0].Turn != 10 || got[0].Status != agentrun.NudgeNothing {
		t.Errorf("reviews %+v", got)
	}
	if n := b.Model.Count("turn"); n != 0 {
		t.Errorf("%d requests to answer what was answered", n)
	}
	b.Say("c", 100, "And you?") // the record of the other agent lacks a result, and has one too many
	validThreads(t, b)
}

func TestWhileAReviewRunsNoOtherStarts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":2}}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1, Barrier: "held", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	scriptSaves(b)
	for i := range 5 {
		b.Say("c", i, "hello")
	}
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	if c := view(b, "c").Counters; c.InFlight != 2 || c.Memory != 3 || c.Total != 5 {
		t.Errorf("while it runs the row counts %+v", c)
	}
	shown, err := b.Conversations.Show(t.Context(), b.Workspace, "c")
	testkit.Must(t, err)
	if n := shown.Nudges; len(n) != 1 || n[0].Status != "open" || n[0].Turn != 2 {
		t.Errorf("while it runs it is shown as %+v", n)
	}
	testkit.Eventually(t, "the conversation has decided after the fifth turn", func() bool {
		v, err := b.Driver.State(t.Context(), b.Workspace.Key, view(b, "c").ID)
		return err == nil && v.Busy == 0
	})
	b.Model.Release("held")
	reviews(b, "c", 1)
	quiet(b, "c")
	b.Say("c", 6, "hello")
	if got := numbers(reviews(b, "c", 2)); !slices.Equal(got, []int{2, 6}) {
		t.Errorf("reviews after turns %v", got)
	}
}

func TestReviewsOfADayAreCapped(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":1,"daily_cap":2}}' where id = $1`,
		b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	scriptSaves(b)
	for i := range 6 {
		b.Say("c", i, "hello")
		reviews(b, "c", min(i+1, 2)) // begins after the answer
		quiet(b, "c")
	}
	id := view(b, "c").ID
	_, err := b.Driver.End(t.Context(), b.Workspace.Key, id)
	testkit.Must(t, err)
	testkit.Eventually(t, "the conversation has ended", func() bool { return view(b, "c").ClosedAt != nil })
	testkit.Eventually(t, "the review at its end is over", func() bool {
		return b.Temporal.GetWorkflow(t.Context(), contract.NudgeID(b.Workspace.Key, id, 6), "").
			Get(t.Context(), nil) == nil
	})
	if got := numbers(reviews(b, "c", 2)); !slices.Equal(got, []int{1, 2}) || b.Model.Count("nudge") != 2 {
		t.Errorf("reviews after turns %v, with %d requests", got, b.Model.Count("nudge"))
	}
}

// A change that a review proposes and that needs approval is reported with the next reply.
func TestWhatAReviewProposesIsTold(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = `+
		`'{"nudge":{"every":1},"write_approval":{"memory":"autonomous"}}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1,
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada works at night."})}})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	scriptSaves(b)
	b.Say("c", 1, "hello")
	if got := reviews(b, "c", 1)[0]; got.Status != agentrun.NudgeNothing || got.Staged != 1 || len(got.Writes) != 0 {
		t.Errorf("review %+v", got)
	}
	if got := b.Say("c", 2, "hello"); !strings.HasSuffix(got.Reply, "\n\n(Waiting for approval: 1)") {
		t.Errorf("the next answer is %q", got.Reply)
	}
}

// A review uses at most five model calls and keeps what it has written.
func TestAReviewStopsAfterFiveCalls(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":1}}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "nudge", CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{saying("memory_save",
			map[string]string{"content": fmt.Sprintf("Fact number %d of the day is %d.", c.Results(),
				100*c.Results())})}
	}})
	scriptSaves(b)
	b.Say("c", 1, "hello")
	got := reviews(b, "c", 1)
	if r := got[0]; r.Status != agentrun.NudgeBudget || r.Steps != 5 || b.Model.Count("nudge") != 5 ||
		len(r.Writes) == 0 {
		t.Errorf("review %+v after %d requests", r, b.Model.Count("nudge"))
	}
	if n := count(b, "select count(*) from cairn.agent_calls where result is null"); n != 0 {
		t.Errorf("%d calls of the last response did not run", n)
	}
	validThreads(t, b)
}

func TestAConversationThatEndsIsReviewed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for turns, want := range map[int]int{3: 1, 2: 0} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			t.Parallel()
			b := apptest.Open(t)
			b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
			scriptSaves(b)
			for i := range turns {
				b.Say("c", i, "hello")
			}
			id := view(b, "c").ID
			_, err := b.Driver.End(t.Context(), b.Workspace.Key, id)
			testkit.Must(t, err)
			testkit.Eventually(t, "the conversation has ended", func() bool { return view(b, "c").ClosedAt != nil })
			got := reviews(b, "c", want)
			if len(got) != want || want == 1 && got[0].Turn != 3 {
				t.Errorf("reviews %+v", got)
			}
			again := b.Say("c", 100, "I am back.") // opens it again; the counters continue
			if v := view(b, "c"); again.Turn != turns+1 || v.ClosedAt != nil || v.Counters.Total != turns+1 ||
				v.Counters.InFlight != 0 || v.Counters.LastReviewed != 3*want {
				t.Errorf("then %+v with %+v", again, v)
			}
		})
	}
}
