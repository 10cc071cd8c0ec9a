package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var buildInput = contract.BuildInput{RunRef: runRef, Timeouts: timeouts()}

func mockBuild(e *environment, spans int) {
	gives[contract.BuildInput](e, contract.OpenBuild, contract.OpenBuildResult{Spans: spans})
	gives[contract.SpanInput](e, contract.BuildSpan, contract.BuildSpanResult{})
	gives[contract.CloseInput](e, contract.CloseBuild, contract.BuildResult{Outcome: "completed", Spans: spans})
}

func TestBuildRemembersSpanBySpan(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockBuild(e, 3)
	e.ExecuteWorkflow(workflows.Build, buildInput)
	if out := result[contract.BuildResult](e); out.Outcome != "completed" {
		t.Errorf("%+v", out)
	}
	for n, in := range inputsOf[contract.SpanInput](e, contract.BuildSpan) {
		if in.Span != n {
			t.Errorf("span %d came as number %d", in.Span, n)
		}
	}
	e.checkQueue(contract.BuildSpan, contract.QueueLLM)
}

func TestBuildOfALongSessionContinuesAsNew(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockBuild(e, 201)
	e.ExecuteWorkflow(workflows.Build, buildInput)
	in := next[contract.BuildInput](e)
	if in.From != 200 || in.Run != runRef.Run || e.calls(contract.BuildSpan) != 200 {
		t.Errorf("goes on with %+v after %d spans", in, e.calls(contract.BuildSpan))
	}
	e = newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockBuild(e, 201)
	e.ExecuteWorkflow(workflows.Build, in)
	result[contract.BuildResult](e)
	if last := only[contract.SpanInput](e, contract.BuildSpan); last.Span != 200 {
		t.Errorf("went on with span %d", last.Span)
	}
}

func TestBuildReturnsWhatAnEarlierAttemptEndedWith(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.BuildInput](e, contract.OpenBuild,
		contract.OpenBuildResult{Ended: &contract.BuildResult{Outcome: "partial"}})
	e.ExecuteWorkflow(workflows.Build, buildInput)
	if out := result[contract.BuildResult](e); out.Outcome != "partial" {
		t.Errorf("%+v", out)
	}
}

func TestBuildClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Build, input: buildInput, mock: func(e *environment) { mockBuild(e, 2) },
		closing: contract.CloseBuild, steps: []string{contract.OpenBuild, contract.BuildSpan},
	}.check(t)
}
