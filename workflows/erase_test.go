package workflows_test

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var eraseInput = contract.EraseInput{Erasure: 5, Timeouts: contract.StepTimeouts{Heartbeat: time.Second}}

// mockErase mocks an erasure that leaves nothing after the given rounds.
func mockErase(e *environment, rounds int) (order *[]string) {
	order = new([]string)
	for _, step := range []string{contract.EraseFence, contract.EraseStop, contract.EraseDerived,
		contract.EraseCount, contract.EraseRows, contract.EraseObjects} {
		on(e, step, func(contract.EraseRef) (nothing, error) {
			*order = append(*order, step)
			return nothing{}, nil
		})
	}
	on(e, contract.EraseEnd, func(in contract.EraseRef) (contract.EraseResult, error) {
		return contract.EraseResult{Ended: e.calls(contract.EraseEnd) >= rounds, Rows: in.Erasure}, nil
	})
	return order
}

func TestEraseGoesThroughItsStepsInOrder(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	order := mockErase(e, 1)
	e.ExecuteWorkflow(workflows.Erase, eraseInput)
	if out := result[contract.EraseResult](e); !out.Ended || out.Rows != eraseInput.Erasure {
		t.Errorf("%+v", out)
	}
	want := []string{contract.EraseFence, contract.EraseStop, contract.EraseDerived, contract.EraseCount,
		contract.EraseRows, contract.EraseObjects, contract.EraseStop}
	if !slices.Equal(*order, want) {
		t.Errorf("order %v", *order)
	}
	e.checkQueue(contract.EraseRows, contract.QueueMain)
}

func TestEraseBeginsAgainUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockErase(e, 3)
	begun := e.Now()
	e.ExecuteWorkflow(workflows.Erase, eraseInput)
	result[contract.EraseResult](e)
	if n, took := e.calls(contract.EraseRows), e.Now().Sub(begun); n != 3 || took < 20*time.Second {
		t.Errorf("%d rounds in %s", n, took)
	}
}

func TestEraseTriesEachStepAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.EraseFence, contract.EraseStop, contract.EraseDerived,
		contract.EraseCount, contract.EraseRows, contract.EraseObjects, contract.EraseEnd} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockErase(e, 2)
		e.faults[step] = once()
		e.ExecuteWorkflow(workflows.Erase, eraseInput)
		if out := result[contract.EraseResult](e); !out.Ended {
			t.Errorf("%s: %+v", step, out)
		}
	}
}

func TestEraseFailsWhenAStepCannotBeDone(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.EraseFence, contract.EraseRows, contract.EraseEnd} {
		for name, cancelled := range map[string]bool{"refused": false, "timeout": false, "cancelled": true} {
			e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
			mockErase(e, 1)
			e.faults[step] = map[string]func() error{
				"refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
			}[name]
			e.ExecuteWorkflow(workflows.Erase, eraseInput)
			if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
				t.Errorf("%s %s: %v", step, name, err)
			}
		}
	}
}

func TestEraseIsCancelledBetweenItsRounds(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockErase(e, 100)
	e.RegisterDelayedCallback(e.CancelWorkflow, time.Second)
	e.ExecuteWorkflow(workflows.Erase, eraseInput)
	if err := e.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
}
