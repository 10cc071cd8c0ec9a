package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func TestRetrieveIsARunOfItsAgent(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "read_history", agent.Slow)), answering())
	does[contract.ToolInput](e, contract.RunTool)
	in := agentInput(3)
	in.Queue = contract.QueueBatch
	e.ExecuteWorkflow(workflows.Retrieve, in)
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
	if step := inputsOf[contract.StepInput](e, contract.Step)[0]; step.Base.Compacts {
		t.Error("only a turn has its conversation made shorter")
	}
	e.checkQueue(contract.Step, contract.QueueBatch)
	e.checkQueue(contract.RunTool, contract.QueueBatch)
}

func TestRetrieveStartsItsCallsApart(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "a", agent.Slow), call(1, "b", agent.Slow), call(2, "c", agent.Slow)), answering())
	does[contract.ToolInput](e, contract.RunTool)
	in := agentInput(3)
	in.Interval = 2 * time.Second
	begun := e.Now()
	e.ExecuteWorkflow(workflows.Retrieve, in)
	result[contract.AgentResult](e)
	if took := e.Now().Sub(begun); took != 4*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestRetrieveIsClosedHoweverItEnds(t *testing.T) {
	t.Parallel()
	for reason, fault := range map[agent.Reason]func(*environment) error{
		agent.ProviderError: func(*environment) error { return refuses() },
		agent.WallClock:     func(*environment) error { return timesOut() },
		agent.Interrupted:   (*environment).cancels,
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		responses(e, answering())
		closesAgent(e)
		e.faults[contract.Step] = func() error { return fault(e) }
		e.ExecuteWorkflow(workflows.Retrieve, agentInput(3))
		if out := result[contract.AgentResult](e); out.Reason != reason {
			t.Errorf("%s: %+v", reason, out)
		}
	}
}

func TestRetrieveIsCancelledBetweenItsCalls(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, calling(call(0, "a", agent.Slow), call(1, "b", agent.Slow)), answering())
	does[contract.ToolInput](e, contract.RunTool)
	closesAgent(e)
	in := agentInput(3)
	in.Interval = 10 * time.Second
	e.RegisterDelayedCallback(e.CancelWorkflow, 5*time.Second)
	e.ExecuteWorkflow(workflows.Retrieve, in)
	if out := result[contract.AgentResult](e); out.Reason != agent.Interrupted || e.calls(contract.RunTool) != 1 {
		t.Errorf("%+v after %d calls", out, e.calls(contract.RunTool))
	}
}
