package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var adaptInput = contract.AdaptInput{RunRef: runRef, Timeouts: timeouts()}

func mockAdapt(e *environment) {
	gives[contract.AdaptInput](e, contract.OpenAdapt, contract.OpenAdaptResult{Decisions: 9})
	gives[contract.AdaptInput](e, contract.AdaptPolicy, contract.AdaptPolicyResult{Trials: 5})
	does[contract.TrialInput](e, contract.ShadowTrial)
	gives[contract.CloseInput](e, contract.CloseAdapt, contract.AdaptResult{Outcome: "completed", Decisions: 9})
}

func TestAdaptLearnsAndTriesThePolicy(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockAdapt(e)
	e.ExecuteWorkflow(workflows.Adapt, adaptInput)
	if out := result[contract.AdaptResult](e); out.Outcome != "completed" {
		t.Errorf("%+v", out)
	}
	seen := map[int]bool{}
	for _, in := range inputsOf[contract.TrialInput](e, contract.ShadowTrial) {
		seen[in.Trial] = true
	}
	if len(seen) != 5 || !seen[0] || !seen[4] {
		t.Errorf("tried %v", seen)
	}
	e.checkQueue(contract.AdaptPolicy, contract.QueueBatch)
	e.checkQueue(contract.ShadowTrial, contract.QueueBatch)
	e.checkQueue(contract.OpenAdapt, contract.QueueMain)
}

func TestAdaptWithoutDecisionsOnlyCloses(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.AdaptInput](e, contract.OpenAdapt, contract.OpenAdaptResult{})
	gives[contract.CloseInput](e, contract.CloseAdapt, contract.AdaptResult{Outcome: "nothing"})
	e.ExecuteWorkflow(workflows.Adapt, adaptInput)
	if out := result[contract.AdaptResult](e); out.Outcome != "nothing" {
		t.Errorf("%+v", out)
	}
}

func TestAdaptReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.AdaptInput](e, contract.OpenAdapt,
		contract.OpenAdaptResult{Ended: &contract.AdaptResult{Outcome: "completed"}})
	e.ExecuteWorkflow(workflows.Adapt, adaptInput)
	if out := result[contract.AdaptResult](e); out.Outcome != "completed" {
		t.Errorf("%+v", out)
	}
}

func TestAdaptClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Adapt, input: adaptInput, mock: mockAdapt, closing: contract.CloseAdapt,
		steps: []string{contract.OpenAdapt, contract.AdaptPolicy, contract.ShadowTrial},
	}.check(t)
}
