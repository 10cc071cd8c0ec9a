package workflows_test

import (
	"slices"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

// offloadInput returns a thread with groups, with or without a review before them.
func offloadInput(groups int, flushes bool) contract.OffloadInput {
	in := contract.OffloadInput{RunRef: runRef, Groups: groups, Timeouts: timeouts()}
	if flushes {
		flush := agentInput(2)
		flush.Queue = contract.QueueBatch
		in.Flush = &flush
	}
	return in
}

func mockOffload(e *environment) {
	responses(e, answering())
	closesAgent(e)
	on(e, contract.Compress, func(in contract.GroupInput) (contract.CompressResult, error) {
		if in.Group == 1 {
			return contract.CompressResult{Reason: "model_invalid"}, nil
		}
		return contract.CompressResult{}, nil
	})
	gives[contract.CloseOffloadInput](e, contract.CloseOffload, contract.OffloadResult{Groups: 6})
}

func TestOffloadRecordsEachGroup(t *testing.T) {
	t.Parallel()
	for name, flushes := range map[string]bool{"conversation": true, "thread": false} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockOffload(e)
		e.ExecuteWorkflow(workflows.Offload, offloadInput(6, flushes))
		if out := result[contract.OffloadResult](e); out.Groups != 6 {
			t.Errorf("%s: %+v", name, out)
		}
		closing := only[contract.CloseOffloadInput](e, contract.CloseOffload)
		want := []string{"", "model_invalid", "", "", "", ""}
		if !slices.Equal(closing.Reasons, want) || closing.Code != "" {
			t.Errorf("%s: closed with %+v", name, closing)
		}
		if n := e.calls(contract.Step); (n == 1) != flushes {
			t.Errorf("%s: %d steps of a review", name, n)
		}
		e.checkQueue(contract.Compress, contract.QueueLLM)
	}
}

func TestOffloadStopsAtAGroupThatFails(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockOffload(e)
	e.faults[contract.Compress] = refuses
	e.ExecuteWorkflow(workflows.Offload, offloadInput(9, false))
	result[contract.OffloadResult](e)
	closing := only[contract.CloseOffloadInput](e, contract.CloseOffload)
	if n := e.calls(contract.Compress); n != 4 || closing.Code != "model_refused" || len(closing.Reasons) != 9 {
		t.Errorf("%d groups, closed with %+v", n, closing)
	}
}

func TestOffloadGoesOnAfterAReviewThatFailed(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockOffload(e)
	e.faults[contract.Step] = refuses
	e.ExecuteWorkflow(workflows.Offload, offloadInput(2, true))
	result[contract.OffloadResult](e)
	if n := e.calls(contract.Compress); n != 2 {
		t.Errorf("%d groups", n)
	}
	if in := only[contract.CloseAgentInput](e, contract.CloseAgent); in.Reason != agent.ProviderError {
		t.Errorf("the review was closed with %+v", in)
	}
}

func TestOffloadIsCancelledInItsReview(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockOffload(e)
	e.faults[contract.Step] = e.cancels
	e.ExecuteWorkflow(workflows.Offload, offloadInput(2, true))
	if closing := only[contract.CloseOffloadInput](e, contract.CloseOffload); closing.Code != "cancelled" {
		t.Errorf("closed with %+v", closing)
	}
}

func TestOffloadClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Offload, input: offloadInput(1, true), mock: mockOffload,
		closing: contract.CloseOffload, steps: []string{contract.Compress},
	}.check(t)
	endings{ // the review's run cannot be closed, so the run of the thread reports it
		workflow: workflows.Offload, input: offloadInput(1, true),
		mock: func(e *environment) {
			mockOffload(e)
			e.faults[contract.Step] = refuses
		},
		closing: contract.CloseOffload, steps: []string{contract.CloseAgent},
	}.check(t)
}
