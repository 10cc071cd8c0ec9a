package e2e_test

import (
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Conversations, their turns and their reviews end in every way for which a history is recorded.
func TestConversationsEndInEachWay(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	cairn := apptest.Open(t)
	record := func(b *apptest.Bundle, name, message string) {
		b.Record(contract.ConversationID(b.Workspace.Key, view(b, "c").ID), "Conversation/"+name)
		if message != "" {
			recordTurn(b, "c", message, "Turn/"+name)
		}
	}
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		b := apptest.Open(t) // of its own, for what is distilled afterwards
		exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":1}}' where id = $1`, b.Workspace.ID)
		b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1,
			Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada likes tea."})}})
		b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
		scriptSaves(b)
		b.Say("c", 1, "remember Grace likes coffee.")
		reviews(b, "c", 0)
		b.Say("c", 2, "hello")
		reviews(b, "c", 1)
		quiet(b, "c")
		id := view(b, "c").ID
		_, err := b.Driver.End(t.Context(), b.Workspace.Key, id)
		testkit.Must(t, err)
		testkit.Eventually(t, "the conversation has ended", func() bool { return view(b, "c").ClosedAt != nil })
		testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), contract.ConversationID(b.Workspace.Key, id), "").
			Get(t.Context(), nil))
		record(b, "ended", "m1")
		b.Record(contract.NudgeID(b.Workspace.Key, id, reviews(b, "c", 1)[0].Turn), "Nudge/saved")
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		b := apptest.Open(t, func(c *config.Config) { c.ConversationClose = time.Second })
		b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
		scriptSaves(b)
		for i := range 3 {
			b.Say("c", i, "hello")
		}
		id := view(b, "c").ID
		testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), contract.ConversationID(b.Workspace.Key, id), "").
			Get(t.Context(), nil))
		if got := reviews(b, "c", 1); got[0].Turn != 3 {
			t.Errorf("reviews %+v", got)
		}
		if v := view(b, "c"); v.ClosedAt != nil || v.Counters.Total != 3 {
			t.Errorf("after its silence the conversation is %+v", v)
		}
		testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), contract.NudgeID(b.Workspace.Key, id, 3), "").
			Get(t.Context(), nil))
		record(b, "silence", "")
		b.Record(contract.NudgeID(b.Workspace.Key, id, 3), "Nudge/nothing")
		b.Say("c", 9, "I am back.")
		if n := view(b, "c").Counters.Total; n != 4 {
			t.Errorf("the counters went on to %d, want 4", n)
		}
	})
	t.Run("continued", func(t *testing.T) {
		t.Parallel()
		b := apptest.Open(t, func(c *config.Config) { c.ConversationTurns = 3 })
		b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "Enough."})
		b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: looking})
		for i := range 3 {
			if got := b.Say("c", i, "hello", on("voice"), wall(time.Minute)); got.Reason != "budget" {
				t.Errorf("answered %+v", got)
			}
		}
		if _, err := b.App.Messages.SendMessage(t.Context(), observedOn(b, "voice")); err != nil {
			t.Error(err)
		}
		record(b, "continued", "m0")
		id := contract.ConversationID(b.Workspace.Key, view(b, "c").ID)
		var first string
		testkit.Eventually(t, "the conversation has continued as new", func() bool { // after its last answer
			first = previous(b, id, "")
			return first != ""
		})
		b.RecordExecution(id, first, "Conversation/full")
	})
	t.Run("interrupted", func(t *testing.T) {
		b := cairn.Part(t)
		b.Model.On(openaitest.Rule{Stage: "turn", Barrier: "held", Reply: "too late"})
		send(b, b.Message("c", "m1", "hello"))
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
		cancel(b, "c", "m1")
		answered(b, "c", "m1")
		record(b, "interrupted", "m1")
	})
	t.Run("late", func(t *testing.T) {
		b := cairn.Part(t)
		b.Model.On(openaitest.Rule{Stage: "turn", Barrier: "held", Reply: "too late"})
		if got := b.Say("c", 1, "hello", wall(time.Second)); got.Reason != "wall_clock" {
			t.Errorf("answered %+v", got)
		}
		record(b, "late", "m1")
	})
	t.Run("refused", func(t *testing.T) {
		b := cairn.Part(t)
		b.Model.On(openaitest.Rule{Stage: "turn", Status: 401, Reply: "bad key"})
		if got := b.Say("c", 1, "hello"); got.Reason != "provider_error" {
			t.Errorf("answered %+v", got)
		}
		record(b, "refused", "m1")
	})
}
