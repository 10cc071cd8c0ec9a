package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var reembedInput = contract.ReembedInput{
	ReembedRef: contract.ReembedRef{Workspace: 1, WorkspaceKey: "w1", Space: 2}, Heartbeat: time.Second,
}

// mockReembed mocks a re-embedding of the given batches, after which the space can be used in the
// given pass.
func mockReembed(e *environment, batches, passes int) {
	does[contract.ReembedInput](e, contract.ReembedBegin)
	on(e, contract.ReembedBatch, func(contract.ReembedBatchInput) (contract.ReembedBatchResult, error) {
		if e.calls(contract.ReembedBatch) > batches {
			return contract.ReembedBatchResult{}, nil
		}
		return contract.ReembedBatchResult{Documents: 10}, nil
	})
	on(e, contract.ReembedSwitch, func(contract.ReembedSwitchInput) (contract.ReembedSwitchResult, error) {
		return contract.ReembedSwitchResult{Done: e.calls(contract.ReembedSwitch) >= passes}, nil
	})
	does[contract.ReembedMarkInput](e, contract.ReembedMark)
}

// states are the recorded states.
func states(e *environment) (out []string) {
	for _, in := range inputsOf[contract.ReembedMarkInput](e, contract.ReembedMark) {
		out = append(out, in.State)
	}
	return out
}

func TestReembedEmbedsAllBatchesAndChangesTheSpace(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockReembed(e, 3, 1)
	e.ExecuteWorkflow(workflows.Reembed, reembedInput)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if e.calls(contract.ReembedBatch) != 4 || e.calls(contract.ReembedSwitch) != 1 || len(states(e)) != 0 {
		t.Errorf("%d batches, %d changes of the space, states %v", e.calls(contract.ReembedBatch),
			e.calls(contract.ReembedSwitch), states(e))
	}
	e.checkQueue(contract.ReembedBatch, contract.QueueLLM)
	e.checkQueue(contract.ReembedSwitch, contract.QueueMain)
}

// A step that fails for a while is repeated.
func TestReembedTriesEachStepAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.ReembedBegin, contract.ReembedBatch, contract.ReembedSwitch} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockReembed(e, 2, 1)
		e.faults[step] = once()
		e.ExecuteWorkflow(workflows.Reembed, reembedInput)
		if err := e.GetWorkflowError(); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
}

func TestReembedRecordsHowItEnded(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.ReembedBegin, contract.ReembedBatch, contract.ReembedSwitch} {
		for want, fault := range map[string]func(*environment) func() error{
			"failed":    func(*environment) func() error { return refuses },
			"cancelled": func(e *environment) func() error { return e.cancels },
		} {
			e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
			mockReembed(e, 2, 1)
			e.faults[step] = fault(e)
			e.ExecuteWorkflow(workflows.Reembed, reembedInput)
			if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != (want == "cancelled") {
				t.Errorf("%s %s: %v", step, want, err)
			}
			in := only[contract.ReembedMarkInput](e, contract.ReembedMark)
			if in.State != want || (in.Reason != "") != (want == "failed") || in.Space != 2 {
				t.Errorf("%s: recorded %+v, want %s", step, in, want)
			}
		}
	}
}

// Documents that were written meanwhile are embedded in further passes. After many passes a rest is
// handed over.
func TestReembedRepeatsUntilNoDocumentIsMissing(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockReembed(e, 1, 12)
	e.ExecuteWorkflow(workflows.Reembed, reembedInput)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, in := range inputsOf[contract.ReembedBatchInput](e, contract.ReembedBatch) {
		if in.Again {
			again++
		}
	}
	changes := inputsOf[contract.ReembedSwitchInput](e, contract.ReembedSwitch)
	if again != 11 || len(changes) != 12 || changes[9].HandOver || !changes[10].HandOver {
		t.Errorf("%d passes begin again, changes of the space %+v", again, changes)
	}
}

func TestReembedPausesAndResumes(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	in := reembedInput
	in.Rate = 10 // a batch a second
	mockReembed(e, 5, 1)
	begun := e.Now()
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(contract.SignalReembed, contract.PauseReembed) },
		2500*time.Millisecond)
	e.RegisterDelayedCallback(func() {
		if n := e.calls(contract.ReembedBatch); n != 3 {
			t.Errorf("%d batches while paused, want 3", n)
		}
	}, time.Hour)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(contract.SignalReembed, contract.ResumeReembed) },
		2*time.Hour)
	e.ExecuteWorkflow(workflows.Reembed, in)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if got := states(e); len(got) != 2 || got[0] != "paused" || got[1] != "running" {
		t.Errorf("states %v", got)
	}
	if took := e.Now().Sub(begun); took < 2*time.Hour || took > 2*time.Hour+time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestReembedIsCancelledWhilePaused(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	in := reembedInput
	in.Rate = 10
	mockReembed(e, 50, 1)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(contract.SignalReembed, contract.PauseReembed) }, time.Second)
	e.RegisterDelayedCallback(e.CancelWorkflow, time.Hour)
	e.ExecuteWorkflow(workflows.Reembed, in)
	if err := e.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
	if got := states(e); len(got) != 2 || got[1] != "cancelled" {
		t.Errorf("states %v", got)
	}
}

// Documents per second are limited.
func TestReembedKeepsItsRate(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	in := reembedInput
	in.Rate = 5
	mockReembed(e, 4, 1)
	begun := e.Now()
	e.ExecuteWorkflow(workflows.Reembed, in)
	if took := e.Now().Sub(begun); took < 8*time.Second {
		t.Errorf("40 documents took %s, want 8 seconds", took)
	}
}

func TestReembedContinuesAsNew(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockReembed(e, 1000, 1)
	e.ExecuteWorkflow(workflows.Reembed, reembedInput)
	again := next[contract.ReembedInput](e)
	if !again.Begun || again.Space != 2 || e.calls(contract.ReembedBatch) != 500 {
		t.Errorf("continues with %+v after %d batches", again, e.calls(contract.ReembedBatch))
	}
	e = newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockReembed(e, 1, 1)
	e.ExecuteWorkflow(workflows.Reembed, again)
	if e.GetWorkflowError() != nil || e.calls(contract.ReembedBegin) != 0 {
		t.Errorf("began %d times: %v", e.calls(contract.ReembedBegin), e.GetWorkflowError())
	}
}
