package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func TestCompletionIsOneModelCall(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	responses(e, answering())
	closesAgent(e)
	e.ExecuteWorkflow(workflows.Completion, agentInput(1))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
	if step := only[contract.StepInput](e, contract.Step); !step.Step.Last {
		t.Errorf("another call follows: %+v", step.Step)
	}
}

func TestCompletionIsClosedIfTheModelDoesNotReply(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	closesAgent(e)
	gives[contract.StepInput](e, contract.Step, contract.StepResult{})
	e.faults[contract.Step] = refuses
	e.ExecuteWorkflow(workflows.Completion, agentInput(1))
	if in := only[contract.CloseAgentInput](e, contract.CloseAgent); in.Reason != agent.ProviderError {
		t.Errorf("%+v", in)
	}
}
