package workflows_test

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func call(index int, tool string, class agent.Class) agent.CallRef {
	return agent.CallRef{Index: index, Tool: tool, Class: class}
}

func TestTurnIsAnsweredByAStep(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "memory_save", agent.Fast)), answering())
	e.ExecuteWorkflow(workflows.Turn, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
	for n, in := range inputsOf[contract.StepInput](e, contract.Step) {
		if in.N != n+1 || !in.Base.Compacts || in.RunRef != runRef {
			t.Errorf("step %d is %+v", n+1, in)
		}
	}
	e.checkQueue(contract.Step, contract.QueueLLM)
}

func TestTurnRunsSlowToolsBesideEachOther(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "fetch", agent.Slow), call(1, "memory_save", agent.Fast),
		call(2, "execute_shell", agent.Isolated), call(3, "reflect", agent.Control)), answering())
	does[contract.ToolInput](e, contract.RunTool)
	e.ExecuteWorkflow(workflows.Turn, agentInput(3))
	result[contract.AgentResult](e)
	var positions []int
	for _, in := range inputsOf[contract.ToolInput](e, contract.RunTool) {
		positions = append(positions, in.Position)
		if in.Step != 1 {
			t.Errorf("%+v", in)
		}
	}
	slices.Sort(positions)
	if !slices.Equal(positions, []int{0, 2}) {
		t.Errorf("ran the calls %v", positions)
	}
	queues := slices.Sorted(slices.Values(e.queues[contract.RunTool]))
	if !slices.Equal(queues, []string{contract.QueueLLM, contract.QueueSandbox}) {
		t.Errorf("ran on %v", queues)
	}
}

func TestTurnGoesOnAfterAToolThatFails(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]agent.Class{"slow": agent.Slow, "isolated": agent.Isolated} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, calling(call(0, "a", class)), answering())
		does[contract.ToolInput](e, contract.RunTool)
		e.faults[contract.RunTool] = refuses
		e.ExecuteWorkflow(workflows.Turn, agentInput(3))
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestTurnTriesAnIsolatedCallOnce(t *testing.T) {
	t.Parallel()
	for class, attempts := range map[agent.Class]int{agent.Slow: 2, agent.Isolated: 1} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, calling(call(0, "a", class)), answering())
		does[contract.ToolInput](e, contract.RunTool)
		e.faults[contract.RunTool] = once()
		e.ExecuteWorkflow(workflows.Turn, agentInput(3))
		result[contract.AgentResult](e)
		if n := e.calls(contract.RunTool); n != attempts {
			t.Errorf("a call of class %v was tried %d times", class, n)
		}
	}
}

func TestTurnTriesAStepAgain(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, answering())
	e.faults[contract.Step] = once()
	e.ExecuteWorkflow(workflows.Turn, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() || e.calls(contract.Step) != 2 {
		t.Errorf("%+v after %d attempts", out, e.calls(contract.Step))
	}
}

// The words of recordings are known before the first step. Without them, the step states that they are missing.
func TestTurnIsTranscribedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		voice    bool
		fault    func() error
		attempts int
	}{
		"no recording": {false, nil, 0}, "a recording": {true, nil, 1},
		"a failure that passes": {true, once(), 2}, "a failure that does not": {true, refuses, 1},
		"the time is over": {true, timesOut, 1},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, answering())
		does[contract.RunRef](e, contract.Transcribe)
		e.faults[contract.Transcribe] = c.fault
		in := agentInput(3)
		in.Voice = c.voice
		e.ExecuteWorkflow(workflows.Turn, in)
		if out := result[contract.AgentResult](e); out != answer() || e.calls(contract.Transcribe) != c.attempts {
			t.Errorf("%s: %+v after %d attempts", name, out, e.calls(contract.Transcribe))
		}
		if c.voice {
			e.checkQueue(contract.Transcribe, contract.QueueLLM)
		}
	}
}

func TestTurnIsCancelledDuringATranscription(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, answering())
	closesAgent(e)
	does[contract.RunRef](e, contract.Transcribe)
	e.faults[contract.Transcribe] = e.cancels
	in := agentInput(3)
	in.Voice = true
	e.ExecuteWorkflow(workflows.Turn, in)
	if out := result[contract.AgentResult](e); out.Reason != agent.Interrupted || e.calls(contract.Step) != 0 {
		t.Errorf("%+v after %d steps", out, e.calls(contract.Step))
	}
}

// A turn is closed with its reason if no step closes it, and never fails.
func TestTurnIsClosedForWhatHappenedInIt(t *testing.T) {
	t.Parallel()
	late := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil)
	for name, c := range map[string]struct {
		fault  func(e *environment) error
		reason agent.Reason
		detail string
	}{
		"the model is away": {func(*environment) error { return refuses() }, agent.ProviderError, "model_refused"},
		"its time is over":  {func(*environment) error { return late }, agent.WallClock, "unavailable"},
		"it is cancelled":   {(*environment).cancels, agent.Interrupted, "cancelled"},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, answering())
		closesAgent(e)
		e.faults[contract.Step] = func() error { return c.fault(e) }
		e.ExecuteWorkflow(workflows.Turn, agentInput(3))
		if out := result[contract.AgentResult](e); out.Reason != c.reason {
			t.Errorf("%s: %+v", name, out)
		}
		in := only[contract.CloseAgentInput](e, contract.CloseAgent)
		if in.Reason != c.reason || in.Detail != c.detail {
			t.Errorf("%s: closed with %+v", name, in)
		}
	}
}

func TestTurnEndsAtItsDeadlineBetweenSteps(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	e.OnActivity(contract.Step, anything, anything).After(2*time.Minute).
		Return(calling(call(0, "memory_save", agent.Fast)), nil)
	closesAgent(e)
	in := agentInput(9)
	in.Timeouts.Model = time.Hour
	e.ExecuteWorkflow(workflows.Turn, in)
	if out := result[contract.AgentResult](e); out.Reason != agent.WallClock {
		t.Errorf("%+v", out)
	}
}

func TestTurnEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "memory_save", agent.Fast)))
	closesAgent(e)
	e.ExecuteWorkflow(workflows.Turn, agentInput(2))
	if out := result[contract.AgentResult](e); out.Reason != agent.Exhausted {
		t.Errorf("%+v", out)
	}
	if n := e.calls(contract.Step); n != 2 {
		t.Errorf("%d steps", n)
	}
}

// overflowing returns a step without a model call, because the conversation does not fit.
func overflowing() contract.StepResult {
	return contract.StepResult{Overflow: &contract.OffloadToStart{
		WorkflowID: "offload/w1/o", Input: contract.OffloadInput{RunRef: contract.RunRef{Workspace: 1, Run: "run_9"}},
	}}
}

func TestTurnHasAConversationThatDoesNotFitMadeShorterOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  func() error
		awaits int
	}{
		"done": {nil, 0}, "by the relay": {alreadyStarted, 1}, "failed": {refuses, 0},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, overflowing(), answering())
		child(e, contract.Offload, func(contract.OffloadInput) (contract.OffloadResult, error) {
			return contract.OffloadResult{}, nil
		})
		gives[contract.RunRef](e, contract.AwaitOffload, contract.OffloadResult{})
		e.faults[contract.Offload] = c.fault
		e.ExecuteWorkflow(workflows.Turn, agentInput(3))
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", name, out)
		}
		steps := inputsOf[contract.StepInput](e, contract.Step)
		if len(steps) != 2 || steps[0].N != 1 || steps[1].N != 1 || !steps[0].Base.Compacts || steps[1].Base.Compacts {
			t.Errorf("%s: %+v", name, steps)
		}
		if n := e.calls(contract.AwaitOffload); n != c.awaits {
			t.Errorf("%s: waited %d times", name, n)
		}
	}
}

func TestTurnIsCancelledWhileItsConversationIsMadeShorter(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, overflowing(), answering())
	child(e, contract.Offload, func(contract.OffloadInput) (contract.OffloadResult, error) {
		return contract.OffloadResult{}, nil
	})
	closesAgent(e)
	e.faults[contract.Offload] = e.cancels
	e.ExecuteWorkflow(workflows.Turn, agentInput(3))
	if out := result[contract.AgentResult](e); out.Reason != agent.Interrupted {
		t.Errorf("%+v", out)
	}
}

func TestTurnTellsHowFarItHasCome(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	e.OnActivity(contract.Step, anything, anything).After(10*time.Second).Return(answering(), nil)
	asked := false
	e.RegisterDelayedCallback(func() {
		raw, err := e.QueryWorkflow(contract.QueryState)
		if err != nil {
			t.Error(err)
			return
		}
		var state agent.State
		if err := raw.Get(&state); err != nil || state.Step != 1 || state.Budget.Max != 3 {
			t.Errorf("%+v, %v", state, err)
		}
		asked = true
	}, 5*time.Second)
	e.ExecuteWorkflow(workflows.Turn, agentInput(3))
	if result[contract.AgentResult](e); !asked {
		t.Error("nothing was asked")
	}
}
