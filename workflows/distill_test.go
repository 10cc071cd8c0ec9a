package workflows_test

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var distillInput = contract.DistillInput{RunRef: runRef, WorkflowID: "distill/w1/r", Timeouts: timeouts()}

func mockDistill(e *environment) {
	gives[contract.RunRef](e, contract.Segment, contract.SegmentResult{Tasks: []string{"a", "b", "c"}})
	child(e, contract.DistillSkill, func(contract.TaskRef) (contract.TaskResult, error) {
		return contract.TaskResult{Outcome: "created"}, nil
	})
	does[contract.TaskRef](e, contract.AwaitTask)
	gives[contract.CloseInput](e, contract.CloseRun, contract.DistillResult{Outcome: "completed", Tasks: 3})
}

func TestDistillRunsAChildForEachTask(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDistill(e)
	e.ExecuteWorkflow(workflows.Distill, distillInput)
	if out := result[contract.DistillResult](e); out.Tasks != 3 {
		t.Errorf("%+v", out)
	}
	tasks := inputsOf[contract.TaskRef](e, contract.DistillSkill)
	slices.SortFunc(tasks, func(a, b contract.TaskRef) int { return a.Position - b.Position })
	for i, task := range tasks {
		want := contract.TaskRef{
			RunRef: runRef, Task: string("abc"[i]), Position: i + 1, Of: 3, Timeouts: timeouts(),
		}
		if task != want {
			t.Errorf("task %d is %+v, want %+v", i, task, want)
		}
	}
	if in := only[contract.CloseInput](e, contract.CloseRun); in.Code != "" {
		t.Errorf("closed with %+v", in)
	}
	e.checkQueue(contract.Segment, contract.QueueLLM)
	e.checkQueue(contract.CloseRun, "default-test-taskqueue") // queue of the workflow
}

func TestDistillRunsSoManyTasksAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.RunRef](e, contract.Segment, contract.SegmentResult{Tasks: []string{"a", "b", "c", "d", "e"}})
	e.OnWorkflow(contract.DistillSkill, anything, anything).After(time.Minute).Return(contract.TaskResult{}, nil)
	gives[contract.CloseInput](e, contract.CloseRun, contract.DistillResult{Outcome: "completed"})
	begun := e.Now()
	e.ExecuteWorkflow(workflows.Distill, distillInput)
	result[contract.DistillResult](e)
	if took := e.Now().Sub(begun); took != 3*time.Minute {
		t.Errorf("five tasks of a minute, two at once, took %s", took)
	}
}

func TestDistillEndsWithoutTasks(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.RunRef](e, contract.Segment, contract.SegmentResult{Ended: true})
	gives[contract.CloseInput](e, contract.CloseRun, contract.DistillResult{Outcome: "gated"})
	e.ExecuteWorkflow(workflows.Distill, distillInput)
	if out := result[contract.DistillResult](e); out.Outcome != "gated" {
		t.Errorf("%+v", out)
	}
}

func TestDistillWaitsForAChildThatRunsAlready(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDistill(e)
	e.faults[contract.DistillSkill] = alreadyStarted
	e.ExecuteWorkflow(workflows.Distill, distillInput)
	result[contract.DistillResult](e)
	if n := e.calls(contract.AwaitTask); n != 3 {
		t.Errorf("%d tasks were waited for", n)
	}
}

func TestDistillWithoutTimeoutsIsBounded(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.RunRef](e, contract.Segment, contract.SegmentResult{Ended: true})
	gives[contract.CloseInput](e, contract.CloseRun, contract.DistillResult{Outcome: "failed"})
	e.ExecuteWorkflow(workflows.Distill, contract.DistillInput{RunRef: runRef, WorkflowID: "distill/w1/r"})
	result[contract.DistillResult](e)
}

func TestDistillClosesAfterItsChildrenWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDistill(e)
	e.faults[contract.DistillSkill] = e.cancels
	e.ExecuteWorkflow(workflows.Distill, distillInput)
	if err := e.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
	if in := only[contract.CloseInput](e, contract.CloseRun); in.Code != "cancelled" {
		t.Errorf("closed with %+v", in)
	}
}

func TestDistillClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Distill, input: distillInput, mock: mockDistill,
		closing: contract.CloseRun, steps: []string{contract.Segment},
	}.check(t)
}
