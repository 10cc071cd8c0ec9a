package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// everyTurn makes a review due after each turn.
func everyTurn(b *apptest.Bundle) {
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":1}}' where id = $1`, b.Workspace.ID)
}

func TestAReviewThatEndsDuringATurnIsHeardOf(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, status := range map[string]int{agentrun.NudgeNothing: 0, agentrun.NudgeFailed: 401} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.Open(t)
			everyTurn(b)
			b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1, Barrier: "review", Status: status,
				Reply: "Nothing to save."})
			b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
			b.Model.On(openaitest.Rule{Stage: "turn", Match: "^second", Barrier: "turn", Reply: "All right."})
			scriptSaves(b)
			b.Say("c", 1, "first")
			testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "review", 1))
			send(b, b.Message("c", "m2", "second"))
			testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "turn", 1))
			b.Model.Release("review")
			if got := reviews(b, "c", 1); got[0].Status != name {
				t.Errorf("reviews %+v", got)
			}
			quiet(b, "c")
			b.Model.Release("turn")
			answered(b, "c", "m2")
			got := reviews(b, "c", 2)
			if !slices.Equal(numbers(got), []int{1, 2}) {
				t.Errorf("reviews after turns %v", numbers(got))
			}
			quiet(b, "c")
			if c := view(b, "c").Counters; c.Total != 2 || c.LastReviewed != 2 || c.InFlight != 0 {
				t.Errorf("the row counts %+v", c)
			}
			// The next review reads the messages of a failed review.
			requests := asked(b, "nudge")
			if last := requests[len(requests)-1].Last; strings.Contains(last,
				`"first"`) != (name == agentrun.NudgeFailed) || !strings.Contains(last, `"second"`) {
				t.Errorf("the second review is shown %s", last)
			}
		})
	}
}

func TestATerminatedReviewIsFinished(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	everyTurn(b)
	b.Model.On(openaitest.Rule{Stage: "nudge", Results: new(int),
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada likes tea."})}})
	b.Model.On(openaitest.Rule{Stage: "nudge", Times: 1, Barrier: "review", Reply: "Saved."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Saved."})
	scriptSaves(b)
	b.Say("c", 1, "hello")
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "review", 1))
	testkit.Must(t, b.Temporal.TerminateWorkflow(t.Context(), contract.NudgeID(b.Workspace.Key, view(b, "c").ID, 1), "",
		"test"))
	b.Model.Release("review")
	exec(b, "update cairn.outbox set due_at = now()")
	if got := reviews(b, "c", 1); len(got) != 1 || got[0].Status != agentrun.NudgeSaved || len(got[0].Writes) != 1 {
		t.Errorf("reviews %+v", got)
	}
	// Whichever attempt finished the review, the conversation has its result by the next turn.
	b.Say("c", 2, "hello")
	if got := numbers(reviews(b, "c", 2)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("reviews after turns %v", got)
	}
	if n := count(b, "select count(*) from cairn.memories"); n != 1 {
		t.Errorf("%d memories, want 1", n)
	}
}

// A failing tool does not block the turn.
func TestAToolThatDoesNotWorkIsTold(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, "revoke insert on cairn.memories from cairn_app")
	b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "I could not keep it."})
	b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{saying("memory_save",
			map[string]string{"content": strings.Repeat("Ada likes tea. ", 1+c.Results())})}
	}})
	got := b.Say("c", 1, "I like tea.", func(r *conversation.Request) { r.MaxTurns = 5 })
	if got.Reason != "budget" || got.Reply != "I could not keep it." || b.Model.Count("turn") != 5 {
		t.Errorf("answered %+v after %d requests", got, b.Model.Count("turn"))
	}
	requests := asked(b, "turn")
	if first, third := requests[1].Last, requests[3].Last; !strings.Contains(first, "is unavailable") ||
		strings.Contains(first, "permission") || !strings.Contains(third, "stop retrying") {
		t.Errorf("told of the first failure: %s; of the third: %s", first, third)
	}
	validThreads(t, b)
}

// A conversation's workflow is reset while Postgres has its turns.
func TestAResetConversationRepeatsNothing(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	scriptSaves(p.Bundle)
	p.Say("c", 1, "remember Ada likes tea.")
	p.Say("c", 2, "hello")
	id := contract.ConversationID(p.Workspace.Key, view(p.Bundle, "c").ID)
	turn := turnID(p.Bundle, "c", "m1")
	p.finished(turn, p.reset(turn))
	p.reset(id)
	p.Say("c", 3, "hello")
	if n := p.Model.Count("turn"); n != 4 {
		t.Errorf("%d requests for three turns and one tool call, want 4", n)
	}
	if v := view(p.Bundle, "c"); v.Counters.Total != 3 || v.Counters.Memory != 2 || v.Messages != 8 {
		t.Errorf("the conversation is %+v", v)
	}
	p.paidOnce()
}
