package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var reflectionInput = contract.ReflectionInput{
	Workspace: "w1", Date: "2026-03-01", Zone: "Europe/Berlin", Why: contract.ReflectionOfSweep,
}

func mockReflection(e *environment) {
	gives[contract.ReflectionInput](e, contract.OpenReflection, contract.OpenReflectionResult{
		RunRef: runRef, Budget: agent.ForReflection(), Timeouts: timeouts(),
	})
	responses(e, answering())
	closesAgent(e)
	day := contract.DistillDayResult{}
	for _, id := range []string{"distill/w1/a", "distill/w1/b"} {
		day.Distills = append(day.Distills, contract.DistillToStart{
			WorkflowID: id, Conversation: 2, Input: contract.DistillInput{RunRef: runRef, WorkflowID: id},
		})
	}
	gives[contract.RunRef](e, contract.DistillDay, day)
	child(e, contract.Distill, func(contract.DistillInput) (contract.DistillResult, error) {
		return contract.DistillResult{}, nil
	})
}

func TestReflectionDistillsItsDay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step    string
		fault   func() error
		started int
	}{
		"started":        {contract.Distill, nil, 2},
		"started before": {contract.Distill, alreadyStarted, 2},
		"day refused":    {contract.DistillDay, refuses, 0},
		"day retried":    {contract.DistillDay, once(), 2},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockReflection(e)
		e.faults[c.step] = c.fault
		e.ExecuteWorkflow(workflows.Reflection, reflectionInput)
		want := contract.ReflectionResult{Run: runRef.Run, Status: "saved", Steps: 1, Distills: c.started}
		if out := result[contract.ReflectionResult](e); out != want {
			t.Errorf("%s: %+v, want %+v", name, out, want)
		}
		e.checkQueue(contract.Step, contract.QueueBatch)
	}
}

func TestReflectionOfAnEmptyDayDistillsNothing(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.ReflectionInput](e, contract.OpenReflection, contract.OpenReflectionResult{
		RunRef: runRef, Ended: &contract.AgentResult{Status: "empty"},
	})
	e.ExecuteWorkflow(workflows.Reflection, reflectionInput)
	if out := result[contract.ReflectionResult](e); out.Status != "empty" || out.Distills != 0 {
		t.Errorf("%+v", out)
	}
}

func TestReflectionIsClosedHoweverItEnds(t *testing.T) {
	t.Parallel()
	for reason, fault := range map[agent.Reason]func(*environment) error{
		agent.ProviderError: func(*environment) error { return refuses() },
		agent.WallClock:     func(*environment) error { return timesOut() },
		agent.Interrupted:   (*environment).cancels,
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockReflection(e)
		e.faults[contract.Step] = func() error { return fault(e) }
		e.ExecuteWorkflow(workflows.Reflection, reflectionInput)
		if out := result[contract.ReflectionResult](e); out.Status != "failed" || out.Distills != 0 {
			t.Errorf("%s: %+v", reason, out)
		}
		if in := only[contract.CloseAgentInput](e, contract.CloseAgent); in.Reason != reason {
			t.Errorf("%s: closed with %+v", reason, in)
		}
	}
}

func TestReflectionFailsWhenItCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"refused": false, "timeout": false, "cancelled": true} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockReflection(e)
		e.faults[contract.OpenReflection] = map[string]func() error{
			"refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
		}[name]
		e.ExecuteWorkflow(workflows.Reflection, reflectionInput)
		if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
}
