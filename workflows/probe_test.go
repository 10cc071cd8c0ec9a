package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var probeInput = contract.ProbeInput{RunRef: runRef, Timeouts: timeouts()}

func mockProbe(e *environment) {
	gives[contract.ProbeInput](e, contract.OpenProbe, contract.OpenProbeResult{})
	gives[contract.ProbeInput](e, contract.MakeProbes, contract.MakeProbesResult{Probes: 3})
	does[contract.AskInput](e, contract.AskProbe)
	gives[contract.CloseInput](e, contract.CloseProbe, contract.ProbeResult{Outcome: "completed", Probes: 3})
}

func TestProbeAsksEachQuestion(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockProbe(e)
	e.ExecuteWorkflow(workflows.Probe, probeInput)
	if out := result[contract.ProbeResult](e); out.Probes != 3 {
		t.Errorf("%+v", out)
	}
	for n, in := range inputsOf[contract.AskInput](e, contract.AskProbe) {
		if in.Probe != n {
			t.Errorf("question %d came as number %d", in.Probe, n)
		}
	}
	e.checkQueue(contract.AskProbe, contract.QueueLLM)
}

func TestProbeGoesOnAfterAQuestionThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockProbe(e)
	e.faults[contract.AskProbe] = func() error {
		if e.calls(contract.AskProbe) == 1 {
			return refuses()
		}
		return nil
	}
	e.ExecuteWorkflow(workflows.Probe, probeInput)
	result[contract.ProbeResult](e)
	if n := e.calls(contract.AskProbe); n != 3 {
		t.Errorf("%d questions were asked", n)
	}
	if in := only[contract.CloseInput](e, contract.CloseProbe); in.Code != "model_refused" {
		t.Errorf("closed with %+v", in)
	}
}

func TestProbeReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.ProbeInput](e, contract.OpenProbe,
		contract.OpenProbeResult{Ended: &contract.ProbeResult{Outcome: "failed"}})
	e.ExecuteWorkflow(workflows.Probe, probeInput)
	if out := result[contract.ProbeResult](e); out.Outcome != "failed" {
		t.Errorf("%+v", out)
	}
}

func TestProbeClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Probe, input: probeInput, mock: mockProbe, closing: contract.CloseProbe,
		steps: []string{contract.OpenProbe, contract.MakeProbes, contract.AskProbe},
	}.check(t)
}
