package agentrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// result is a tool result with an action.
func (b *bundle) result(action string) tools.Result {
	raw, err := json.Marshal(done{action})
	testkit.Must(b.t, err)
	out, err := tools.Recorded(raw)
	testkit.Must(b.t, err)
	return out
}

// counted is a tool that counts how often it runs.
func counted(t *testing.T, name string, class agent.Class, n *atomic.Int64) tools.Tool {
	return tool(t, name, class, func(context.Context, agent.Actor) (done, error) {
		n.Add(1)
		return done{"done"}, nil
	})
}

// calling is a turn whose first response has called tools.
func (b *bundle) calling(id string, names ...string) run.Ref {
	b.t.Helper()
	var calls []llm.ToolCall
	for _, name := range names {
		calls = append(calls, call(name, "{}"))
	}
	b.model.calls(calls...)
	turn := b.say(id, "Go on.").Run.Ref
	b.step(turn, agent.Step{N: 1})
	return turn
}

func TestRunToolRunsASlowCallOnce(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	b := setup(t, counted(t, "dig", agent.Slow, &ran))
	turn := b.calling("m1", "dig")
	for range 2 {
		testkit.Must(t, b.RunTool(t.Context(), pgtest.ToolInput(turn, 1, 0)))
	}
	b.model.says("Dug.")
	if out := b.step(turn, agent.Step{N: 2}); out.Ended == nil || ran.Load() != 1 {
		t.Errorf("the turn ends with %+v after %d runs", out.Ended, ran.Load())
	}
	if got := lasts(b.model.requests()[1]); !strings.Contains(got, `"action":"done"`) {
		t.Errorf("the model is told %s", got)
	}
	turn = b.calling("m2", "dig")
	for _, at := range [][2]int{{1, 1}, {2, 0}} {
		err := b.RunTool(t.Context(), pgtest.ToolInput(turn, at[0], at[1]))
		if fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" {
			t.Errorf("call %d of step %d: %v", at[1], at[0], err)
		}
	}
}

// A slow call whose activity has failed is reported as a timeout.
func TestStepTellsOfASlowCallThatGaveNoResult(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	b := setup(t, counted(t, "dig", agent.Slow, &ran))
	turn := b.calling("m1", "dig")
	b.model.says("It takes too long.")
	out := b.step(turn, agent.Step{N: 2})
	if !out.Final || ran.Load() != 0 {
		t.Errorf("the step gives %+v after %d runs", out, ran.Load())
	}
	if got := lasts(b.model.requests()[1]); !strings.Contains(got, "timed out") {
		t.Errorf("the model is told %s", got)
	}
}

// A call for a sandboxed worker does not run here. It is reported as not taken or, if it was
// started, with an unknown outcome.
func TestStepTellsOfASandboxedCallWithoutAResult(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	b := setup(t, counted(t, "shell", agent.Isolated, &ran))
	for _, want := range []string{"no sandboxed worker accepted", "interrupted: outcome unknown"} {
		b.model.asked = nil
		turn := b.calling(want, "shell")
		if strings.HasPrefix(want, "interrupted") {
			b.Exec(`insert into tool_op_log (workspace_id, op_id, args_sha, result)
				values ($1, $2, sha256('x'), '{"begun":true}')`, b.A.ID, turn.Op("step-1", 0))
		}
		b.model.says("So be it.")
		b.step(turn, agent.Step{N: 2})
		if got := lasts(b.model.requests()[1]); !strings.Contains(got, want) {
			t.Errorf("the model is told %s, want %q", got, want)
		}
	}
	if ran.Load() != 0 {
		t.Errorf("it ran %d times", ran.Load())
	}
}

// After repeated failures of a tool, the model is told to stop retrying.
func TestAThirdFailureInARowIsToldAsTheLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for try := range 3 { // the same call again and again would not be let through
		b.model.calls(call("memory_remove", fmt.Sprintf(`{"store":"core","match":"nothing","try":%d}`, try)))
	}
	b.model.says("I give up.")
	b.drive(b.say("m1", "Forget it.").Run)
	asked := b.model.requests()
	for i, last := range []bool{false, false, true} {
		if got := lasts(asked[i+1]); strings.Contains(got, "stop retrying") != last {
			t.Errorf("after failure %d the model is told %s", i+1, got)
		}
	}
}

// A control call returns its result to the workflow, which stores the outcome. Earlier calls of the
// response have run by then.
func TestReachRunsWhatComesBeforeAControlCall(t *testing.T) {
	t.Parallel()
	var before, control atomic.Int64
	b := setup(t, counted(t, "note", agent.Fast, &before), counted(t, "hand_off", agent.Control, &control))
	turn := b.calling("m1", "note", "hand_off")
	for range 2 {
		w, result, told, err := b.RunThrough(t.Context(), pgtest.ToolInput(turn, 1, 1))
		if err != nil || told || !result.OK || w.Run.Ref != turn || len(w.Steps) != 1 {
			t.Errorf("reached: %+v, told %t, %v", result, told, err)
		}
	}
	if before.Load() != 1 {
		t.Errorf("the call before it ran %d times", before.Load())
	}
	for _, action := range []string{"handed off", "lost"} {
		testkit.Must(t, b.Tell(t.Context(), turn, 1, 1, b.result(action)))
	}
	_, _, told, err := b.RunThrough(t.Context(), pgtest.ToolInput(turn, 1, 1))
	if err != nil || !told || control.Load() != 2 {
		t.Errorf("once it is told: %t, %v after %d runs", told, err, control.Load())
	}
	b.model.says("All done.")
	b.step(turn, agent.Step{N: 2})
	if got := lasts(b.model.requests()[1]); !strings.Contains(got, "handed off") {
		t.Errorf("the model is told %s", got)
	}
	if _, _, told, err = b.RunThrough(t.Context(), pgtest.ToolInput(turn, 1, 2)); err != nil || !told {
		t.Errorf("of a run that has ended a call is told: %t, %v", told, err)
	}
	if err := b.Tell(t.Context(), turn, 1, 1, b.result("late")); err != nil {
		t.Errorf("told after the end: %v", err)
	}
}

// A rejected control call gets its result at once.
func TestReachTellsAControlCallThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t, tool(t, "hand_off", agent.Control, func(context.Context, agent.Actor) (done, error) {
		return done{}, fault.New(fault.NotFound, "no specialist found", "do it yourself")
	}))
	turn := b.calling("m1", "hand_off")
	_, _, told, err := b.RunThrough(t.Context(), pgtest.ToolInput(turn, 1, 0))
	if err != nil || !told {
		t.Errorf("told: %t, %v", told, err)
	}
	if n := b.Number("select count(*) from agent_calls where code = $1", fault.NotFound); n != 1 {
		t.Errorf("%d calls are told of it", n)
	}
	for name, try := range map[string]func() error{
		"RunThrough": func() error {
			_, _, _, err := b.RunThrough(t.Context(), pgtest.ToolInput(turn, 2, 0))
			return err
		},
		"Tell": func() error { return b.Tell(t.Context(), turn, 1, 1, b.result("x")) },
	} {
		if err := try(); fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" {
			t.Errorf("%s of no call: %v", name, err)
		}
	}
}
