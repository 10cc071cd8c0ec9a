package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var evolveInput = contract.EvolveInput{RunRef: runRef, Timeouts: timeouts()}

func mockEvolve(e *environment, cases, trials int) {
	gives[contract.EvolveInput](e, contract.OpenRound, contract.OpenRoundResult{})
	gives[contract.EvolveInput](e, contract.MineRound, contract.MineRoundResult{Cases: cases})
	gives[contract.EvolveInput](e, contract.DesignRound, contract.DesignRoundResult{Trials: trials})
	does[contract.TrialInput](e, contract.Trial)
	gives[contract.CloseInput](e, contract.CloseRound, contract.EvolveResult{Outcome: "promoted"})
}

func TestEvolveTriesWhatItDesigns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cases, trials, designed, tried int }{
		"candidate":    {4, 6, 1, 6},
		"no candidate": {4, 0, 1, 0},
		"no cases":     {0, 6, 0, 0},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockEvolve(e, c.cases, c.trials)
		e.ExecuteWorkflow(workflows.Evolve, evolveInput)
		result[contract.EvolveResult](e)
		designed, tried := e.calls(contract.DesignRound), e.calls(contract.Trial)
		if designed != c.designed || tried != c.tried {
			t.Errorf("%s: designed %d times, %d trials", name, designed, tried)
		}
		if in := only[contract.CloseInput](e, contract.CloseRound); in.Code != "" {
			t.Errorf("%s: closed with %+v", name, in)
		}
		e.checkQueue(contract.MineRound, contract.QueueBatch)
	}
}

func TestEvolveReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.EvolveInput](e, contract.OpenRound,
		contract.OpenRoundResult{Ended: &contract.EvolveResult{Outcome: "rejected"}})
	e.ExecuteWorkflow(workflows.Evolve, evolveInput)
	if out := result[contract.EvolveResult](e); out.Outcome != "rejected" {
		t.Errorf("%+v", out)
	}
}

func TestEvolveClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Evolve, input: evolveInput, mock: func(e *environment) { mockEvolve(e, 4, 5) },
		closing: contract.CloseRound,
		steps:   []string{contract.OpenRound, contract.MineRound, contract.DesignRound, contract.Trial},
	}.check(t)
}
