package agentrun_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// A run that is closed early reports the effects that took place, even if their results were never
// stored, and marks every other call as not run.
func TestCloseTellsWhatTookEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.calls(saves("Ada likes tea."), call("slow_thing", "{}"))
	turn := b.say("m1", "I like tea.").Run
	b.step(turn.Ref, agent.Step{N: 1})
	testkit.Must(t, b.RunTool(t.Context(), pgtest.ToolInput(turn.Ref, 1, 0)))
	b.Exec("update agent_calls set result = null, code = '', ended_at = null")
	first, err := b.Close(t.Context(), pgtest.CloseAgent(turn.Ref, agent.Interrupted))
	testkit.Must(t, err)
	if first.Reason != agent.Interrupted || first.Saved != 1 || first.ReplySeq != 4 || first.Counters.Total != 0 {
		t.Errorf("the turn ends with %+v", first)
	}
	if got := b.answer("m1"); !strings.Contains(got.Reply, "memory_save") || !strings.Contains(got.Reply, "stopped") {
		t.Errorf("answered %+v", got)
	}
	told := "select count(*) from messages where role = 'tool' and content like $1"
	if n, m := b.Number(told, `%"action":"added"%`), b.Number(told, "%interrupted%"); n != 1 || m != 1 {
		t.Errorf("the transcript has %d effects and %d calls that did not run", n, m)
	}
	again, err := b.Close(t.Context(), contract.CloseAgentInput{RunRef: pgtest.RunRef(turn.Ref),
		Reason: agent.WallClock, Detail: "another"})
	said := b.Number("select count(*) from messages")
	if err != nil || again.Reason != agent.Interrupted || b.ended(turn.Ref).Detail != "" || said != 5 {
		t.Errorf("closed again: %+v, %v, with %d messages", again, err, said)
	}
}

// A call of a closed run can no longer take effect.
func TestACallOfAClosedTurnHasNoEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.calls(saves("Ada likes tea."))
	turn := b.say("m1", "I like tea.").Run
	b.step(turn.Ref, agent.Step{N: 1})
	_, err := b.Close(t.Context(), pgtest.CloseAgent(turn.Ref, agent.WallClock))
	testkit.Must(t, err)
	if err := b.RunTool(t.Context(), pgtest.ToolInput(turn.Ref, 1, 0)); err != nil {
		t.Errorf("a call of a closed turn: %v", err)
	}
	if n := b.Number("select count(*) from memories"); n != 0 {
		t.Errorf("%d memories were made", n)
	}
}

// Counters of the workflow and stored counters are joined.
func TestCloseCountsOnWhatItsWorkflowKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.says("Ahoy.")
	turn := b.say("m1", "Hello").Run
	base := contract.ConversationBase{Known: true, Counters: nudge.Counters{Total: 4, Memory: 2, Skill: 4}}
	out, err := b.Step(t.Context(), contract.StepInput{RunRef: pgtest.RunRef(turn.Ref), Step: agent.Step{N: 1},
		Base: base})
	testkit.Must(t, err)
	if c := out.Ended.Counters; c.Total != 5 || c.Memory != 3 || c.Skill != 5 || !out.Ended.MayNudge {
		t.Errorf("the turn ends with %+v", out.Ended)
	}
	if n := b.Number("select (counters->>'total')::int from conversations"); n != 5 {
		t.Errorf("%d turns are stored", n)
	}
}

func TestAwaitGivesTheEndOfARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.say("m1", "Hello").Run.Ref
	if _, err := b.Await(t.Context(), pgtest.RunRef(turn)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("before its end: %v", err)
	}
	closed, err := b.Close(t.Context(), pgtest.CloseAgent(turn, agent.Interrupted))
	testkit.Must(t, err)
	for range 2 {
		got, err := b.Await(t.Context(), pgtest.RunRef(turn))
		if err != nil || got.Reason != closed.Reason || got.ReplySeq != closed.ReplySeq {
			t.Errorf("after its end: %+v, %v", got, err)
		}
	}
}

func TestMethodsOfAMissingRunSayNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	missing := run.Ref{Workspace: b.B.ID, Run: b.say("m1", "Hello").Run.Ref.Run} // of another workspace
	for name, try := range map[string]func(context.Context) error{
		"Close": func(ctx context.Context) error {
			_, err := b.Close(ctx, pgtest.CloseAgent(missing, agent.Interrupted))
			return err
		},
		"Await":   func(ctx context.Context) error { _, err := b.Await(ctx, pgtest.RunRef(missing)); return err },
		"RunTool": func(ctx context.Context) error { return b.RunTool(ctx, pgtest.ToolInput(missing, 1, 0)) },
		"Tell":    func(ctx context.Context) error { return b.Tell(ctx, missing, 1, 0, b.result("x")) },
		"RunThrough": func(ctx context.Context) error {
			_, _, _, err := b.RunThrough(ctx, pgtest.ToolInput(missing, 1, 0))
			return err
		},
	} {
		if err := try(t.Context()); fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
