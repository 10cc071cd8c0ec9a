package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func mockSpecialist(e *environment) {
	gives[contract.AgentInput](e, contract.TakeTarget, contract.TakeTargetResult{Fence: 8})
	responses(e, answering())
	does[contract.TargetInput](e, contract.FreeTarget)
	closesAgent(e)
}

func TestSpecialistWorksUnderItsLease(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockSpecialist(e)
	e.ExecuteWorkflow(workflows.Specialist, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
	if step := only[contract.StepInput](e, contract.Step); step.Base.Fence != 8 {
		t.Errorf("%+v", step.Base)
	}
	if free := only[contract.TargetInput](e, contract.FreeTarget); free.Fence != 8 || free.RunRef != runRef {
		t.Errorf("%+v", free)
	}
}

func TestSpecialistWaitsForItsTarget(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockSpecialist(e)
	e.faults[contract.TakeTarget] = func() error {
		if e.calls(contract.TakeTarget) < 9 {
			return errUnavailable
		}
		return nil
	}
	begun := e.Now()
	e.ExecuteWorkflow(workflows.Specialist, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
	if took := e.Now().Sub(begun); took > 10*time.Second { // it polls every second
		t.Errorf("waited %s", took)
	}
}

func TestSpecialistReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	ended := answer()
	gives[contract.AgentInput](e, contract.TakeTarget, contract.TakeTargetResult{Ended: &ended})
	e.ExecuteWorkflow(workflows.Specialist, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
}

func TestSpecialistIsClosedHoweverItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step   string
		fault  func(*environment) error
		reason agent.Reason
		frees  int
	}{
		{contract.TakeTarget, func(*environment) error { return refuses() }, agent.ProviderError, 0},
		{contract.TakeTarget, func(*environment) error { return timesOut() }, agent.ProviderError, 0},
		{contract.TakeTarget, (*environment).cancels, agent.Interrupted, 0},
		{contract.Step, func(*environment) error { return refuses() }, agent.ProviderError, 1},
		{contract.Step, (*environment).cancels, agent.Interrupted, 1},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSpecialist(e)
		e.faults[c.step] = func() error { return c.fault(e) }
		e.ExecuteWorkflow(workflows.Specialist, agentInput(3))
		if out := result[contract.AgentResult](e); out.Reason != c.reason {
			t.Errorf("%s: %+v", c.step, out)
		}
		if n := e.calls(contract.FreeTarget); n != c.frees {
			t.Errorf("%s: the target was given back %d times", c.step, n)
		}
	}
}

func TestSpecialistEndsWithATargetThatItCannotGiveBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{"refused": refuses, "retried": once()} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSpecialist(e)
		e.faults[contract.FreeTarget] = fault
		e.ExecuteWorkflow(workflows.Specialist, agentInput(3))
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
