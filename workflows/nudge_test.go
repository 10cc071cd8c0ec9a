package workflows_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var nudgeInput = contract.NudgeInput{
	Workspace: 1, WorkspaceKey: "w1", Conversation: 2, Parent: "conversation/w1/2", Number: 10, Turn: 12,
	Memory: true, Timeouts: timeouts(),
}

// mockNudge mocks a review whose conversation receives the result, or has ended.
func mockNudge(e *environment, heard error) {
	gives[contract.NudgeInput](e, contract.OpenNudge, contract.OpenNudgeResult{
		RunRef: runRef, Budget: agent.ForNudge(), Timeouts: timeouts(),
	})
	responses(e, answering())
	closesAgent(e)
	e.OnSignalExternalWorkflow(anything, nudgeInput.Parent, "", contract.SignalNudgeDone, anything).
		Return(func(_, _, _, name string, arg any) error {
			e.note(name, arg)
			return heard
		})
}

func TestNudgeTellsItsConversation(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]error{"there": nil, "gone": errors.New("no such workflow")} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockNudge(e, heard)
		e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
		want := contract.NudgeResult{Number: 10, Run: runRef.Run, Status: "saved", Saved: 1, Steps: 1}
		if out := result[contract.NudgeResult](e); out != want {
			t.Errorf("%s: %+v", name, out)
		}
		if told := only[contract.NudgeResult](e, contract.SignalNudgeDone); told != want {
			t.Errorf("%s: told %+v", name, told)
		}
		e.checkQueue(contract.OpenNudge, contract.QueueBatch)
		e.checkQueue(contract.Step, contract.QueueBatch)
	}
}

func TestNudgeTellsOfAReviewThatFailed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*environment) error{
		"refused": func(*environment) error { return refuses() },
		"timeout": func(*environment) error { return timesOut() },
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockNudge(e, nil)
		e.faults[contract.Step] = func() error { return fault(e) }
		e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
		result[contract.NudgeResult](e)
		if told := only[contract.NudgeResult](e, contract.SignalNudgeDone); told.Status != "failed" {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}

func TestNudgeIsClosedWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockNudge(e, nil)
	e.faults[contract.Step] = e.cancels
	e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
	if out := result[contract.NudgeResult](e); out.Status != "failed" {
		t.Errorf("%+v", out)
	}
	if in := only[contract.CloseAgentInput](e, contract.CloseAgent); in.Reason != agent.Interrupted {
		t.Errorf("closed with %+v", in)
	}
}

func TestNudgeThatAnEarlierAttemptHasEndedIsTold(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	ended := answer()
	gives[contract.NudgeInput](e, contract.OpenNudge, contract.OpenNudgeResult{RunRef: runRef, Ended: &ended})
	e.OnSignalExternalWorkflow(anything, anything, "", contract.SignalNudgeDone, anything).Return(nil)
	e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
	if out := result[contract.NudgeResult](e); out.Status != "saved" {
		t.Errorf("%+v", out)
	}
}

func TestNudgeFailsWhenItCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"refused": false, "timeout": false, "cancelled": true} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockNudge(e, nil)
		e.faults[contract.OpenNudge] = map[string]func() error{
			"refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
		}[name]
		e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
		if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNudgeTriesToOpenAgain(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockNudge(e, nil)
	e.faults[contract.OpenNudge] = once()
	e.ExecuteWorkflow(workflows.Nudge, nudgeInput)
	result[contract.NudgeResult](e)
}
