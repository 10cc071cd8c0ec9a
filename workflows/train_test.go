package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var trainInput = contract.TrainInput{RunRef: runRef, WorkflowID: "train/w1/default/k", Timeouts: timeouts()}

var training = contract.OpenTrainingResult{Stages: 2, Iterations: 3, Episodes: 4, Parallel: 2, Trials: 3}

// mockTrain mocks a training that stops after a stage, or continues.
func mockTrain(e *environment, stop bool) {
	gives[contract.TrainInput](e, contract.OpenTraining, training)
	child(e, contract.TrainStage, func(contract.StageInput) (contract.StageResult, error) {
		return contract.StageResult{Stop: stop}, nil
	})
	does[contract.TrialInput](e, contract.TrainTrial)
	gives[contract.CloseInput](e, contract.CloseTraining, contract.TrainResult{Outcome: "completed", Version: 2})
}

func TestTrainTriesWhatItsLastStageMade(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockTrain(e, true)
	e.ExecuteWorkflow(workflows.Train, trainInput)
	if out := result[contract.TrainResult](e); out.Version != 2 {
		t.Errorf("%+v", out)
	}
	stage := only[contract.StageInput](e, contract.TrainStage)
	if stage.Stage != 0 || stage.FromIteration != 0 || stage.Of != training {
		t.Errorf("%+v", stage)
	}
	if n := e.calls(contract.TrainTrial); n != training.Trials {
		t.Errorf("%d trials", n)
	}
	e.checkQueue(contract.TrainTrial, contract.QueueBatch)
}

func TestTrainContinuesAsNewAfterEachStage(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockTrain(e, false)
	e.ExecuteWorkflow(workflows.Train, trainInput)
	in := next[contract.TrainInput](e)
	if in.FromStage != 1 || in.WorkflowID != trainInput.WorkflowID || e.calls(contract.TrainTrial) != 0 {
		t.Errorf("goes on with %+v", in)
	}
	e = newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockTrain(e, true)
	e.ExecuteWorkflow(workflows.Train, in)
	result[contract.TrainResult](e)
	if stage := only[contract.StageInput](e, contract.TrainStage); stage.Stage != 1 {
		t.Errorf("%+v", stage)
	}
}

func TestTrainReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.TrainInput](e, contract.OpenTraining,
		contract.OpenTrainingResult{Ended: &contract.TrainResult{Outcome: "failed"}})
	e.ExecuteWorkflow(workflows.Train, trainInput)
	if out := result[contract.TrainResult](e); out.Outcome != "failed" {
		t.Errorf("%+v", out)
	}
}

func TestTrainClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Train, input: trainInput, mock: func(e *environment) { mockTrain(e, true) },
		closing: contract.CloseTraining, steps: []string{contract.OpenTraining, contract.TrainTrial},
	}.check(t)
}

func TestTrainClosesWhenItsStageFails(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]func(*environment) error{
		"model_refused": func(*environment) error { return refuses() },
		"cancelled":     (*environment).cancels,
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockTrain(e, true)
		e.faults[contract.TrainStage] = func() error { return fault(e) }
		e.ExecuteWorkflow(workflows.Train, trainInput)
		if in := only[contract.CloseInput](e, contract.CloseTraining); in.Code != want {
			t.Errorf("closed with %+v, want %s", in, want)
		}
	}
}
