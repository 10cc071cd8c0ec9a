package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var curateInput = contract.CurateInput{Workspace: 1, WorkspaceKey: "w1", Timeouts: timeouts()}

func TestCurateReturnsWhatWasDone(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.CurateInput](e, contract.CurateSkills, contract.CurateResult{Staled: 1, Similar: 2})
	e.faults[contract.CurateSkills] = once()
	e.ExecuteWorkflow(workflows.Curate, curateInput)
	if out := result[contract.CurateResult](e); out != (contract.CurateResult{Staled: 1, Similar: 2}) {
		t.Errorf("%+v", out)
	}
	if n := e.calls(contract.CurateSkills); n != 2 {
		t.Errorf("tried %d times", n)
	}
	e.checkQueue(contract.CurateSkills, contract.QueueMain)
}

func TestCurateFailsAsItsStepDoes(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"refused": false, "timeout": false, "cancelled": true} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		gives[contract.CurateInput](e, contract.CurateSkills, contract.CurateResult{})
		e.faults[contract.CurateSkills] = map[string]func() error{
			"refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
		}[name]
		e.ExecuteWorkflow(workflows.Curate, curateInput)
		if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
}
