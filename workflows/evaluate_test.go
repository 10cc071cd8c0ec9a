package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var evaluateInput = contract.EvaluateInput{RunRef: runRef, Timeouts: timeouts()}

// mockEvaluate mocks an evaluation whose units have two groups of questions each.
func mockEvaluate(e *environment, units, prepared int) {
	gives[contract.EvaluateInput](e, contract.OpenEvaluation,
		contract.OpenEvaluationResult{Units: units, Prepared: prepared, Parallel: 2})
	gives[contract.UnitInput](e, contract.StartUnit, contract.StartUnitResult{Await: true, Groups: 2})
	does[contract.UnitInput](e, contract.AwaitUnit)
	does[contract.AskUnitInput](e, contract.AskUnit)
	gives[contract.CloseInput](e, contract.CloseEvaluation, contract.EvaluateResult{Outcome: "completed", Rows: 3})
}

func TestEvaluateDoesEachUnit(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockEvaluate(e, 3, 0)
	e.ExecuteWorkflow(workflows.Evaluate, evaluateInput)
	if out := result[contract.EvaluateResult](e); out.Rows != 3 {
		t.Errorf("%+v", out)
	}
	asked := map[[2]int]int{}
	for _, in := range inputsOf[contract.AskUnitInput](e, contract.AskUnit) {
		asked[[2]int{in.Unit, in.Group}]++
	}
	if len(asked) != 6 || e.calls(contract.StartUnit) != 3 || e.calls(contract.AwaitUnit) != 3 {
		t.Errorf("asked %v", asked)
	}
	e.checkQueue(contract.AskUnit, contract.QueueBatch)
}

// What prepares others ends first, and a long evaluation continues as new.
func TestEvaluatePreparesFirst(t *testing.T) {
	t.Parallel()
	in := evaluateInput
	for _, want := range []int{2, 102} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockEvaluate(e, 130, 2)
		e.ExecuteWorkflow(workflows.Evaluate, in)
		if in = next[contract.EvaluateInput](e); in.From != want || in.Run != runRef.Run {
			t.Fatalf("goes on with %+v, want unit %d", in, want)
		}
	}
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockEvaluate(e, 130, 2)
	e.ExecuteWorkflow(workflows.Evaluate, in)
	result[contract.EvaluateResult](e)
	if n := e.calls(contract.StartUnit); n != 28 {
		t.Errorf("%d units were left", n)
	}
}

func TestEvaluateWaitsForNothingThatIsDone(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.EvaluateInput](e, contract.OpenEvaluation, contract.OpenEvaluationResult{Units: 1, Parallel: 2})
	gives[contract.UnitInput](e, contract.StartUnit, contract.StartUnitResult{Groups: 1})
	does[contract.AskUnitInput](e, contract.AskUnit)
	gives[contract.CloseInput](e, contract.CloseEvaluation, contract.EvaluateResult{Outcome: "completed"})
	e.ExecuteWorkflow(workflows.Evaluate, evaluateInput)
	result[contract.EvaluateResult](e)
	if e.calls(contract.AwaitUnit) != 0 || e.calls(contract.AskUnit) != 1 {
		t.Errorf("%d waits, %d groups", e.calls(contract.AwaitUnit), e.calls(contract.AskUnit))
	}
}

func TestEvaluateReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.EvaluateInput](e, contract.OpenEvaluation,
		contract.OpenEvaluationResult{Ended: &contract.EvaluateResult{Outcome: "over_budget"}})
	e.ExecuteWorkflow(workflows.Evaluate, evaluateInput)
	if out := result[contract.EvaluateResult](e); out.Outcome != "over_budget" {
		t.Errorf("%+v", out)
	}
}

func TestEvaluateClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Evaluate, input: evaluateInput, mock: func(e *environment) { mockEvaluate(e, 1, 0) },
		closing: contract.CloseEvaluation,
		steps:   []string{contract.OpenEvaluation, contract.StartUnit, contract.AwaitUnit, contract.AskUnit},
	}.check(t)
}
