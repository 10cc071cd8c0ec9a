package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/agentrun"
	"cairn/internal/testkit"
)

// turnID returns the workflow ID of a message's first attempt.
func turnID(b *apptest.Bundle, conversationID, message string) string {
	return contract.TurnID(b.Workspace.Key, view(b, conversationID).ID, contract.VisibleKey(message), 1)
}

// oneOfEach checks that there is one conversation with one answered turn, and the given number
// of calls and memories.
func oneOfEach(b *apptest.Bundle, calls, memories int) {
	b.T.Helper()
	for query, want := range map[string]int{
		"select count(*) from cairn.turns where status = 'ended'":                            1,
		"select count(*) from cairn.messages where role = 'user'":                            1,
		"select count(*) from cairn.messages where role = 'assistant' and tool_calls = '[]'": 1,
		"select count(*) from cairn.runs where status = 'ended' and kind = 'turn'":           1,
		"select count(*) from cairn.llm_calls where state = 'done'":                          calls,
		"select count(*) from cairn.agent_steps":                                             calls,
		"select count(*) from cairn.memories":                                                memories,
		"select count(*) from cairn.outbox where kind in ('turn', 'drive')":                  0,
		`select count(*) from
			(select external_id from cairn.messages group by 1 having count(*) > 1) as doubled`: 0,
		"select (counters->>'total')::int from cairn.conversations": 1,
		"select counted from cairn.conversations":                   1,
	} {
		if got := count(b, query); got != want {
			b.T.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	again := 0
	for _, n := range b.Model.Paid() {
		again += n - 1
	}
	// If a worker dies while a request is in flight, the reply may have been produced. The ledger
	// records such calls.
	if unknown := count(b, "select coalesce(sum(unknown), 0)::int from cairn.llm_calls"); again > unknown {
		b.T.Errorf("%d replies were paid again, and %d calls were in flight at a crash", again, unknown)
	}
}

// scriptOneSave makes the model save a memory and then answer.
func scriptOneSave(b *apptest.Bundle, first, second openaitest.Rule) {
	first.Stage, first.Results, first.Calls = "turn", new(int),
		[]llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada likes tea."})}
	second.Stage, second.Reply = "turn", "Noted."
	b.Model.On(first)
	b.Model.On(second)
}

func TestAWorkerThatDiesBetweenTwoStagesDoublesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	memoriesWait := func(b *apptest.Bundle) int {
		return count(b, "select count(*) from pg_locks where locktype = 'advisory' and classid = 6 and not granted "+
			"and database = (select oid from pg_database where datname = current_database())")
	}
	t.Run("while the first reply is on its way", func(t *testing.T) {
		t.Parallel()
		b := apptest.OpenIdle(t)
		scriptOneSave(b, openaitest.Rule{Barrier: "held"}, openaitest.Rule{})
		worker := b.StartProcess()
		send(b, b.Message("c", "m1", "I like tea."))
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
		worker.Kill()
		b.Model.Release("held")
		b.StartProcess()
		if got := answered(b, "c", "m1"); got.Reply != "Noted." || got.Reason != "final" {
			t.Errorf("answered %+v", got)
		}
		oneOfEach(b, 2, 1)
	})
	t.Run("while a tool writes", func(t *testing.T) {
		t.Parallel()
		b := apptest.OpenIdle(t)
		scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{})
		unlock := lockMemories(b)
		worker := b.StartProcess()
		send(b, b.Message("c", "m1", "I like tea."))
		testkit.Eventually(t, "the write waits", func() bool { return memoriesWait(b) == 1 })
		worker.Kill()
		unlock()
		b.StartProcess()
		if got := answered(b, "c", "m1"); got.Reply != "Noted." {
			t.Errorf("answered %+v", got)
		}
		oneOfEach(b, 2, 1)
	})
	t.Run("after a tool has written", func(t *testing.T) {
		t.Parallel()
		b := apptest.OpenIdle(t)
		scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{Times: 1, Barrier: "held"})
		b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
		worker := b.StartProcess()
		send(b, b.Message("c", "m1", "I like tea."))
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
		// The state is as if the worker had died between the tool's transaction and the one that
		// stores its result.
		exec(b, "update cairn.agent_calls set result = null, code = '', ended_at = null")
		worker.Kill()
		b.Model.Release("held")
		b.StartProcess()
		if got := answered(b, "c", "m1"); got.Reply != "Noted." {
			t.Errorf("answered %+v", got)
		}
		oneOfEach(b, 2, 1)
		if n := count(b, `select count(*) from cairn.agent_calls where result like '%"action":"added"%'`); n != 1 {
			t.Errorf("%d calls are told that they added, want the one that did", n)
		}
	})
	t.Run("after a skill was saved", func(t *testing.T) { // check 5: committed, and no process has learned of it
		t.Parallel()
		b := apptest.OpenIdle(t)
		b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int),
			Calls: []llm.ToolCall{saying("skill_save",
				map[string]string{"name": "bake-bread", "description": "Bakes bread",
					"content": "## When to Use\nWhen bread is wanted.\n\n## Procedure\n1. Knead the dough\n"})}})
		b.Model.On(openaitest.Rule{Stage: "turn", Times: 1, Barrier: "held", Reply: "lost"})
		b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
		worker := b.StartProcess()
		send(b, b.Message("c", "m1", "Keep how one bakes."))
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
		exec(b, "update cairn.agent_calls set result = null, code = '', ended_at = null")
		exec(b, "delete from cairn.llm_calls where step = 'step/2'") // nor has the model been asked again
		worker.Kill()
		b.Model.Release("held")
		b.StartProcess()
		if got := answered(b, "c", "m1"); got.Reply != "Noted." {
			t.Errorf("answered %+v", got)
		}
		if got := text(b, "select string_agg(version || ' ' || op, ',') from cairn.skill_versions"); got != "1 create" {
			t.Errorf("history %s", got)
		}
		if told := text(b, "select string_agg(result, ',') from cairn.agent_calls"); !strings.Contains(told,
			`"action":"created"`) || !strings.Contains(told, `"version":1`) || strings.Count(told, "bake-bread") != 1 {
			t.Errorf("the second attempt is told %s", told)
		}
	})
	t.Run("after the turn has ended", func(t *testing.T) {
		t.Parallel()
		b := apptest.OpenIdle(t)
		scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{Barrier: "held"})
		temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
		worker := b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
		send(b, b.Message("c", "m1", "I like tea."))
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
		temporal.Cut() // no process learns of the answer
		b.Model.Release("held")
		if got := answered(b, "c", "m1"); got.Reply != "Noted." {
			t.Errorf("answered %+v", got)
		}
		worker.Kill()
		b.StartProcess()
		testkit.Eventually(t, "the turn's workflow has ended", func() bool {
			d, err := b.Temporal.DescribeWorkflow(t.Context(), turnID(b, "c", "m1"), "")
			return err == nil && d.RawResponse.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		})
		b.Say("c", 1, "I like tea.")
		oneOfEach(b, 2, 1)
	})
}

// An effect that took place is reported, although its result was never stored.
func TestAClosedTurnTellsWhatTookEffect(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{Barrier: "never"})
	b.Start()
	send(b, b.Message("c", "m1", "I like tea."))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "never", 1))
	exec(b, "update cairn.agent_calls set result = null, code = '', ended_at = null")
	cancel(b, "c", "m1")
	if got := answered(b, "c", "m1"); got.Reason != "interrupted" || !strings.Contains(got.Reply, "memory_save") {
		t.Errorf("answered %+v", got)
	}
	if n := count(b,
		`select count(*) from cairn.messages where role = 'tool' and content like '%"action":"added"%'`); n != 1 {
		t.Error("the transcript does not tell that the memory was saved")
	}
}

func TestAMessageSentByManyAtOnceIsOneTurn(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{})
	const senders = 20
	got := make([]conversation.TurnStatus, senders)
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() { got[i], _ = b.App.Messages.SendMessage(t.Context(), b.Message("c", "m1", "I like tea.")) })
	}
	sending.Wait()
	for i, a := range got {
		if a != got[0] || a.Reply != "Noted." {
			t.Errorf("sender %d got %+v", i, a)
		}
	}
	oneOfEach(b, 2, 1)
}

func TestManyFirstMessagesAtOnceAreAllAnswered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: func(c openaitest.Call) string {
		return "You said " + c.Last
	}})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	const senders = 12
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			got := b.Say("c", i, fmt.Sprintf("word %d", i))
			if want := fmt.Sprintf("You said word %d", i); got.Reply != want {
				t.Errorf("message %d was answered %q", i, got.Reply)
			}
		})
	}
	sending.Wait()
	if v := view(b, "c"); v.Turns != senders || v.Counters.Total != senders || v.Messages != 2*senders {
		t.Errorf("the conversation is %+v", v)
	}
}

// A user terminates the turn's workflow: the relay delivers the message again.
func TestATerminatedTurnIsAnswered(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{Times: 1, Barrier: "held"})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	send(b, b.Message("c", "m1", "I like tea."))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	testkit.Must(t, b.Temporal.TerminateWorkflow(t.Context(), turnID(b, "c", "m1"), "", "test"))
	b.Model.Release("held")
	exec(b, "update cairn.outbox set due_at = now()")
	if got := answered(b, "c", "m1"); got.Reply != "Noted." {
		t.Errorf("answered %+v", got)
	}
	oneOfEach(b, 2, 1)
	if got := b.Say("c", 2, "And then?"); got.Turn != 2 || got.Status != "ended" {
		t.Errorf("the next message was answered %+v", got)
	}
}

// The conversation's workflow is terminated during a turn.
func TestATerminatedConversationGoesOn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	scriptOneSave(b, openaitest.Rule{}, openaitest.Rule{Barrier: "held"})
	send(b, b.Message("c", "m1", "I like tea."))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	id := contract.ConversationID(b.Workspace.Key, view(b, "c").ID)
	testkit.Must(t, b.Temporal.TerminateWorkflow(t.Context(), id, "", "test"))
	exec(b, "update cairn.outbox set due_at = now()")
	testkit.Eventually(t, "the conversation runs again", func() bool {
		d, err := b.Temporal.DescribeWorkflow(t.Context(), id, "")
		return err == nil && d.RawResponse.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	b.Model.Release("held")
	answered(b, "c", "m1")
	oneOfEach(b, 2, 1)
	b.Say("c", 2, "And then?")
	if c := view(b, "c").Counters; c.Total != 2 {
		t.Errorf("the row counts %+v", c)
	}
}

// Temporal has lost all data during a turn and a review.
func TestANewTemporalFinishesWhatTheOldOneLost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":1}}' where id = $1`, b.Workspace.ID)
	worker := b.StartProcess()
	b.Model.On(openaitest.Rule{Stage: "nudge", Nth: 1, Barrier: "review", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "tea",
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "Ada likes tea."})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Times: 1, Barrier: "turn", Reply: "lost"})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Say("c", 0, "hello")
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "review", 1))
	send(b, b.Message("c", "m1", "I like this."))
	answered(b, "c", "m1")
	send(b, b.Message("c", "m2", "I like tea."))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "turn", 1))
	worker.Kill()
	b.Model.Release("review")
	b.Model.Release("turn")

	c := b.Config
	c.TemporalAddress, c.TemporalNamespace = apptest.Namespace(t)
	fresh, err := app.Open(t.Context(), c, b.Log)
	testkit.Must(t, err)
	defer fresh.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = fresh.Work(ctx, app.Queues()) })
	defer working.Wait()
	defer cancel()
	exec(b, "update cairn.outbox set due_at = now()")
	if got := answered(b, "c", "m2"); got.Reply != "Noted." {
		t.Errorf("answered %+v", got)
	}
	got := reviews(b, "c", 1)
	if got[0].Turn != 1 || got[0].Status != agentrun.NudgeNothing {
		t.Errorf("reviews %+v", got)
	}
	if n := count(b, "select count(*) from cairn.memories"); n != 1 {
		t.Errorf("%d memories, want 1", n)
	}
	testkit.Eventually(t, "nothing is owed any more", func() bool {
		return count(b, "select count(*) from cairn.outbox where kind in ('turn', 'drive')") == 0
	})
	if v := view(b, "c").Counters; v.Total != 3 {
		t.Errorf("the row counts %+v", v)
	}
}

// Messages continue to arrive while the conversation continues as new repeatedly.
func TestAConversationContinuesAsNewUnderLoad(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.ConversationTurns = 4 })
	scriptSaves(b)
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	const senders, each = 4, 8
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				b.Say("c", s*each+i, "hello")
			}
		})
	}
	sending.Wait()
	v := view(b, "c")
	if v.Turns != senders*each || v.Counters.Total != senders*each || v.Messages != 2*senders*each {
		t.Errorf("the conversation is %+v", v)
	}
	quiet(b, "c")
	if got := numbers(reviews(b, "c", 2)); !slices.IsSorted(got) || got[0] != 10 || len(got) > 3 {
		t.Errorf("reviews after turns %v", got)
	}
	// No update was refused until updates stopped.
	executions := 0
	for id, next := contract.ConversationID(b.Workspace.Key, v.ID), ""; ; executions++ {
		d, err := b.Temporal.DescribeWorkflow(t.Context(), id, next)
		testkit.Must(t, err)
		if next = previous(b, id, d.RawResponse.WorkflowExecutionInfo.Execution.RunId); next == "" {
			break
		}
	}
	if executions < 4 {
		t.Errorf("%d turns in %d executions of at most about four each", v.Turns, executions+1)
	}
}

// previous is the execution that continued as this one.
func previous(b *apptest.Bundle, id, execution string) string {
	b.T.Helper()
	events := b.Temporal.GetWorkflowHistory(b.T.Context(), id, execution, false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	testkit.Must(b.T, err)
	return first.GetWorkflowExecutionStartedEventAttributes().ContinuedExecutionRunId
}
