package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func TestTrainEpisodeIsOneStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fails, cancelled bool }{
		"played": {}, "retried": {}, "refused": {fails: true}, "timeout": {fails: true}, "cancelled": {true, true},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		does[contract.EpisodeInput](e, contract.PlayEpisode)
		e.faults[contract.PlayEpisode] = map[string]func() error{
			"retried": once(), "refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
		}[name]
		e.ExecuteWorkflow(workflows.TrainEpisode, contract.EpisodeInput{IterationInput: iterationInput, Episode: 3})
		if err := e.GetWorkflowError(); c.fails != (err != nil) || c.cancelled != temporal.IsCanceledError(err) {
			t.Errorf("%s: %v", name, err)
		}
		if in := inputsOf[contract.EpisodeInput](e, contract.PlayEpisode)[0]; in.Episode != 3 || in.Iteration != 2 {
			t.Errorf("%s: %+v", name, in)
		}
		e.checkQueue(contract.PlayEpisode, contract.QueueBatch)
	}
}
