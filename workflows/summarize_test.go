package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

// mockSummarize mocks a session that is handed off to two specialists.
func mockSummarize(e *environment) {
	gives[contract.AgentInput](e, contract.KeepSession, contract.KeepSessionResult{})
	responses(e, calling(call(0, contract.HandsOff, agent.Control)), answering())
	var handed contract.HandOffResult
	for run, target := range map[string]string{"run_21": "ada", "run_22": "bela"} {
		in := agentInput(2)
		in.Run = run
		handed.Specialists = append(handed.Specialists,
			contract.AgentToStart{WorkflowID: "specialist/" + target, Type: "personal", Input: in})
	}
	gives[contract.ToolInput](e, contract.HandOff, handed)
	child(e, contract.Specialist, func(contract.AgentInput) (contract.AgentResult, error) { return answer(), nil })
	gives[contract.RunRef](e, contract.AwaitAgent, answer())
	does[contract.RecordHandOffInput](e, contract.RecordHandOff)
	closesAgent(e)
}

func TestSummarizeHandsTargetsOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  func() error
		awaits int
	}{"done": {nil, 0}, "failed": {refuses, 0}, "started before": {alreadyStarted, 2}} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSummarize(e)
		e.faults[contract.Specialist] = c.fault
		in := agentInput(3)
		in.Queue = contract.QueueBatch
		e.ExecuteWorkflow(workflows.Summarize, in)
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", name, out)
		}
		record := only[contract.RecordHandOffInput](e, contract.RecordHandOff)
		if len(record.Runs) != 2 || record.Step != 1 || record.Run != runRef.Run {
			t.Errorf("%s: %+v", name, record)
		}
		if n := e.calls(contract.AwaitAgent); n != c.awaits {
			t.Errorf("%s: %d specialists were waited for", name, n)
		}
		e.checkQueue(contract.HandOff, contract.QueueBatch)
		e.checkQueue(contract.RecordHandOff, contract.QueueBatch)
	}
}

func TestSummarizeHandsNothingOffTwice(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{"recorded": nil, "refused": refuses} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		gives[contract.AgentInput](e, contract.KeepSession, contract.KeepSessionResult{})
		responses(e, calling(call(0, contract.HandsOff, agent.Control)), answering())
		gives[contract.ToolInput](e, contract.HandOff, contract.HandOffResult{Recorded: true})
		e.faults[contract.HandOff] = fault
		e.ExecuteWorkflow(workflows.Summarize, agentInput(3))
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestSummarizeReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	ended := answer()
	gives[contract.AgentInput](e, contract.KeepSession, contract.KeepSessionResult{Ended: &ended})
	e.ExecuteWorkflow(workflows.Summarize, agentInput(3))
	if out := result[contract.AgentResult](e); out != answer() {
		t.Errorf("%+v", out)
	}
}

func TestSummarizeIsClosedHoweverItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step   string
		fault  func(*environment) error
		reason agent.Reason
	}{
		{contract.KeepSession, func(*environment) error { return refuses() }, agent.ProviderError},
		{contract.KeepSession, func(*environment) error { return timesOut() }, agent.ProviderError},
		{contract.Step, func(*environment) error { return refuses() }, agent.ProviderError},
		{contract.Step, func(*environment) error { return timesOut() }, agent.WallClock},
		{contract.Step, (*environment).cancels, agent.Interrupted},
		{contract.HandOff, (*environment).cancels, agent.Interrupted},
		{contract.Specialist, (*environment).cancels, agent.Interrupted},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSummarize(e)
		e.faults[c.step] = func() error { return c.fault(e) }
		e.ExecuteWorkflow(workflows.Summarize, agentInput(3))
		if out := result[contract.AgentResult](e); out.Reason != c.reason {
			t.Errorf("%s: %+v, want %s", c.step, out, c.reason)
		}
		if c.step == contract.Specialist { // their results are recorded for a canceled run, too
			only[contract.RecordHandOffInput](e, contract.RecordHandOff)
		}
	}
}

func TestSummarizeTriesItsStepsAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.KeepSession, contract.HandOff, contract.RecordHandOff} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSummarize(e)
		e.faults[step] = once()
		e.ExecuteWorkflow(workflows.Summarize, agentInput(3))
		if out := result[contract.AgentResult](e); out != answer() {
			t.Errorf("%s: %+v", step, out)
		}
	}
}
