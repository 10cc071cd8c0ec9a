package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var iterationInput = contract.IterationInput{StageInput: stageInput(3), Iteration: 2}

func mockIteration(e *environment) {
	e.OnWorkflow(contract.TrainEpisode, anything, anything).Return(
		func(_ workflow.Context, in contract.EpisodeInput) error { return e.called(contract.TrainEpisode, in) })
	gives[contract.IterationInput](e, contract.Learn, contract.IterationResult{Reward: 0.4, Policy: "p"})
}

func TestTrainIterationLearnsFromItsEpisodes(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	e.OnWorkflow(contract.TrainEpisode, anything, anything).After(time.Minute).Return(nil)
	gives[contract.IterationInput](e, contract.Learn, contract.IterationResult{Reward: 0.4, Policy: "p"})
	begun := e.Now()
	e.ExecuteWorkflow(workflows.TrainIteration, iterationInput)
	if out := result[contract.IterationResult](e); out.Policy != "p" {
		t.Errorf("%+v", out)
	}
	if took := e.Now().Sub(begun); took != 2*time.Minute {
		t.Errorf("four episodes of a minute, two at once, took %s", took)
	}
	if in := only[contract.IterationInput](e, contract.Learn); in.Iteration != 2 || in.Stage != 1 {
		t.Errorf("%+v", in)
	}
	e.checkQueue(contract.Learn, contract.QueueBatch)
}

func TestTrainIterationWithoutALimitPlaysOneByOne(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	e.OnWorkflow(contract.TrainEpisode, anything, anything).After(time.Minute).Return(nil)
	gives[contract.IterationInput](e, contract.Learn, contract.IterationResult{})
	in := iterationInput
	in.Of.Parallel = 0
	begun := e.Now()
	e.ExecuteWorkflow(workflows.TrainIteration, in)
	result[contract.IterationResult](e)
	if took := e.Now().Sub(begun); took != 4*time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestTrainIterationFailsAsItsStepsDo(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.TrainEpisode, contract.Learn} {
		for name, cancelled := range map[string]bool{"refused": false, "cancelled": true} {
			e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
			mockIteration(e)
			e.faults[step] = map[string]func() error{"refused": refuses, "cancelled": e.cancels}[name]
			e.ExecuteWorkflow(workflows.TrainIteration, iterationInput)
			if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
				t.Errorf("%s %s: %v", step, name, err)
			}
			if step == contract.TrainEpisode && e.calls(contract.Learn) != 0 {
				t.Errorf("%s: learnt from episodes that were not played", name)
			}
		}
	}
}

func TestTrainIterationTriesToLearnAgain(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockIteration(e)
	e.faults[contract.Learn] = once()
	e.ExecuteWorkflow(workflows.TrainIteration, iterationInput)
	result[contract.IterationResult](e)
	seen := map[int]bool{}
	for _, in := range inputsOf[contract.EpisodeInput](e, contract.TrainEpisode) {
		seen[in.Episode] = true
	}
	if len(seen) != iterationInput.Of.Episodes {
		t.Errorf("played %v", seen)
	}
}
