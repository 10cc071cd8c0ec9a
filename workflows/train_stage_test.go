package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

// stageInput returns the second stage of a training with the given iterations.
func stageInput(iterations int) contract.StageInput {
	of := training
	of.Iterations = iterations
	return contract.StageInput{TrainInput: trainInput, Stage: 1, Of: of}
}

func mockStage(e *environment) {
	child(e, contract.TrainIteration, func(contract.IterationInput) (contract.IterationResult, error) {
		return contract.IterationResult{}, nil
	})
	gives[contract.StageInput](e, contract.CloseStage, contract.StageResult{Stop: true, Best: 0.5})
}

func TestTrainStageRunsItsIterationsAndCloses(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockStage(e)
	e.ExecuteWorkflow(workflows.TrainStage, stageInput(3))
	if out := result[contract.StageResult](e); !out.Stop || out.Best != 0.5 {
		t.Errorf("%+v", out)
	}
	all := inputsOf[contract.IterationInput](e, contract.TrainIteration)
	for i, in := range all {
		if in.Iteration != i || in.Stage != 1 {
			t.Errorf("iteration %d came as number %d of stage %d", in.Iteration, i, in.Stage)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d iterations", len(all))
	}
	e.checkQueue(contract.CloseStage, contract.QueueBatch)
}

func TestTrainStageContinuesAsNewAfterItsIterations(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockStage(e)
	e.ExecuteWorkflow(workflows.TrainStage, stageInput(51))
	in := next[contract.StageInput](e)
	if in.FromIteration != 50 || in.Stage != 1 || e.calls(contract.CloseStage) != 0 {
		t.Errorf("goes on with %+v", in)
	}
	e = newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockStage(e)
	e.ExecuteWorkflow(workflows.TrainStage, in)
	result[contract.StageResult](e)
	if last := only[contract.IterationInput](e, contract.TrainIteration); last.Iteration != 50 {
		t.Errorf("went on with iteration %d", last.Iteration)
	}
}

func TestTrainStageFailsAsItsStepsDo(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.TrainIteration, contract.CloseStage} {
		for name, cancelled := range map[string]bool{"refused": false, "cancelled": true} {
			e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
			mockStage(e)
			e.faults[step] = map[string]func() error{"refused": refuses, "cancelled": e.cancels}[name]
			e.ExecuteWorkflow(workflows.TrainStage, stageInput(2))
			if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
				t.Errorf("%s %s: %v", step, name, err)
			}
		}
	}
}

func TestTrainStageTriesItsCloseAgain(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockStage(e)
	e.faults[contract.CloseStage] = once()
	e.ExecuteWorkflow(workflows.TrainStage, stageInput(1))
	result[contract.StageResult](e)
}
