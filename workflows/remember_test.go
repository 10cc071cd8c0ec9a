package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var rememberInput = contract.RememberInput{Workspace: 1, WorkspaceKey: "w", Subject: "ab",
	Timeouts: contract.StepTimeouts{Model: time.Minute, Heartbeat: time.Second, Database: time.Second,
		GiveUp: time.Hour}}

// mockRemember mocks calls that leave adds waiting, as listed.
func mockRemember(e *environment, more ...bool) {
	on(e, contract.AddSessions, func(contract.RememberInput) (out contract.AddSessionsResult, err error) {
		if len(more) > 0 {
			out.More, more = more[0], more[1:]
		}
		return out, nil
	})
	on(e, contract.CloseAdds, func(contract.CloseAddsInput) (nothing, error) { return nothing{}, nil })
}

func TestRememberMakesCallsUntilNoAddWaits(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockRemember(e, true, true, false)
	e.ExecuteWorkflow(workflows.Remember, rememberInput)
	if err := e.GetWorkflowError(); err != nil || e.calls(contract.AddSessions) != 3 ||
		e.calls(contract.CloseAdds) != 0 {
		t.Errorf("%d calls, %v", e.calls(contract.AddSessions), err)
	}
	e.checkQueue(contract.AddSessions, contract.QueueLLM)
}

// An add that arrives during a call is added by the next one. Signals that arrive together need one call.
func TestRememberContinuesWithAddsThatAreAnnounced(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	signaled := false
	on(e, contract.AddSessions, func(contract.RememberInput) (out contract.AddSessionsResult, err error) {
		if !signaled {
			signaled = true
			e.SignalWorkflow(contract.SignalRemember, nil)
			e.SignalWorkflow(contract.SignalRemember, nil)
		}
		return out, nil
	})
	e.ExecuteWorkflow(workflows.Remember, rememberInput)
	if err := e.GetWorkflowError(); err != nil || e.calls(contract.AddSessions) != 2 {
		t.Errorf("%d calls, %v", e.calls(contract.AddSessions), err)
	}
}

func TestRememberEndsTheAddsOfAFailedCall(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockRemember(e)
	e.faults[contract.AddSessions] = refuses
	e.ExecuteWorkflow(workflows.Remember, rememberInput)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	closed := only[contract.CloseAddsInput](e, contract.CloseAdds)
	if closed.Subject != "ab" || closed.Reason != agent.ProviderError || closed.Code == "" {
		t.Errorf("%+v", closed)
	}
	e.checkQueue(contract.CloseAdds, "default-test-taskqueue")
}

func TestCanceledRememberEndsItsAdds(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockRemember(e)
	e.faults[contract.AddSessions] = func() error { return temporal.NewCanceledError() }
	e.ExecuteWorkflow(workflows.Remember, rememberInput)
	if err := e.GetWorkflowError(); err == nil {
		t.Error("it completes")
	}
	if closed := only[contract.CloseAddsInput](e, contract.CloseAdds); closed.Reason != agent.Interrupted {
		t.Errorf("%+v", closed)
	}
}

func TestRememberContinuesAsNewAfterManyCalls(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	on(e, contract.AddSessions, func(contract.RememberInput) (contract.AddSessionsResult, error) {
		return contract.AddSessionsResult{More: true}, nil
	})
	e.ExecuteWorkflow(workflows.Remember, rememberInput)
	if err := e.GetWorkflowError(); !workflow.IsContinueAsNewError(err) {
		t.Errorf("it ends with %v", err)
	}
}
