package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var taskRef = contract.TaskRef{RunRef: runRef, Task: "a", Position: 1, Of: 1, Timeouts: timeouts()}

func mockDistillSkill(e *environment) {
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{Files: 4, Judge: true})
	gives[contract.TaskRef](e, contract.WriteFiles, contract.WriteResult{})
	does[contract.TaskRef](e, contract.Judge)
	does[contract.TaskRef](e, contract.Merge)
	gives[contract.TaskRef](e, contract.Publish, contract.PublishResult{Outcome: "created", Skill: 3, Version: 1})
	gives[contract.EndTaskInput](e, contract.EndTask, contract.TaskResult{Outcome: "failed"})
}

func TestDistillSkillWritesJudgesAndPublishes(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDistillSkill(e)
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	if out := result[contract.TaskResult](e); out != (contract.TaskResult{Outcome: "created", Skill: 3, Version: 1}) {
		t.Errorf("%+v", out)
	}
	if e.calls(contract.WriteFiles) != 1 || e.calls(contract.Judge) != 1 {
		t.Errorf("wrote %d times, judged %d times", e.calls(contract.WriteFiles), e.calls(contract.Judge))
	}
	if e.calls(contract.EndTask) != 0 {
		t.Error("the commit has ended the task, and it was ended again")
	}
	e.checkQueue(contract.Draft, contract.QueueLLM)
	e.checkQueue(contract.Publish, contract.QueueBatch)
}

func TestDistillSkillPublishesWithoutWhatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.WriteFiles, contract.Judge} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockDistillSkill(e)
		e.faults[step] = refuses
		e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
		if out := result[contract.TaskResult](e); out.Outcome != "created" {
			t.Errorf("%s: %+v", step, out)
		}
	}
}

func TestDistillSkillMergesUntilTheHeadIsSeen(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{})
	rounds := []contract.PublishResult{
		{Unseen: true}, {Conflict: true}, {Unseen: true}, {Outcome: "updated", Version: 4},
	}
	n := 0
	on(e, contract.Publish, func(contract.TaskRef) (contract.PublishResult, error) {
		n++
		return rounds[n-1], nil
	})
	does[contract.TaskRef](e, contract.Merge)
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	if out := result[contract.TaskResult](e); out.Version != 4 || e.calls(contract.Merge) != 2 {
		t.Errorf("%+v after %d merges", out, e.calls(contract.Merge))
	}
}

func TestDistillSkillComparesAnUpdateBeforeItTakesEffect(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockUncompared(e)
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	if out := result[contract.TaskResult](e); out.Version != 4 || e.calls(contract.Compare) != 1 ||
		e.calls(contract.Publish) != 2 || e.calls(contract.Merge) != 0 {
		t.Errorf("%+v after %d comparisons and %d merges", out, e.calls(contract.Compare), e.calls(contract.Merge))
	}
	e.checkQueue(contract.Compare, contract.QueueLLM)
}

// mockUncompared mocks a skill whose update takes effect after one comparison.
func mockUncompared(e *environment) {
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{})
	on(e, contract.Publish, func(contract.TaskRef) (contract.PublishResult, error) {
		if e.calls(contract.Publish) == 1 {
			return contract.PublishResult{Compare: true}, nil
		}
		return contract.PublishResult{Outcome: "updated", Version: 4}, nil
	})
	does[contract.TaskRef](e, contract.Compare)
	gives[contract.EndTaskInput](e, contract.EndTask, contract.TaskResult{Outcome: "failed"})
}

func TestDistillSkillGivesUpOnASkillThatKeepsChanging(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{})
	gives[contract.TaskRef](e, contract.Publish, contract.PublishResult{Conflict: true})
	gives[contract.EndTaskInput](e, contract.EndTask, contract.TaskResult{Outcome: "failed"})
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	result[contract.TaskResult](e)
	if in := only[contract.EndTaskInput](e, contract.EndTask); in.Code != "version_conflict" {
		t.Errorf("ended with %+v", in)
	}
}

func TestDistillSkillOfATaskThatIsOverOnlyReadsIt(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{Ended: true})
	gives[contract.EndTaskInput](e, contract.EndTask, contract.TaskResult{Outcome: "skipped"})
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	if out := result[contract.TaskResult](e); out.Outcome != "skipped" {
		t.Errorf("%+v", out)
	}
}

func TestDistillSkillEndsItsTaskHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.DistillSkill, input: taskRef, mock: mockDistillSkill,
		closing: contract.EndTask, steps: []string{contract.Draft, contract.Publish},
	}.check(t)
	endings{
		workflow: workflows.DistillSkill, input: taskRef, mock: mockUnseen,
		closing: contract.EndTask, steps: []string{contract.Merge},
	}.check(t)
	endings{
		workflow: workflows.DistillSkill, input: taskRef, mock: mockUncompared,
		closing: contract.EndTask, steps: []string{contract.Compare},
	}.check(t)
}

// mockUnseen mocks a skill whose head is seen after one merge.
func mockUnseen(e *environment) {
	gives[contract.TaskRef](e, contract.Draft, contract.DraftResult{})
	on(e, contract.Publish, func(contract.TaskRef) (contract.PublishResult, error) {
		return contract.PublishResult{Unseen: e.calls(contract.Publish) == 1, Outcome: "updated"}, nil
	})
	does[contract.TaskRef](e, contract.Merge)
	gives[contract.EndTaskInput](e, contract.EndTask, contract.TaskResult{Outcome: "failed"})
}

func TestDistillSkillIsCancelledWhileFilesAreWritten(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDistillSkill(e)
	e.faults[contract.WriteFiles] = e.cancels
	e.ExecuteWorkflow(workflows.DistillSkill, taskRef)
	if in := only[contract.EndTaskInput](e, contract.EndTask); in.Code != "cancelled" {
		t.Errorf("ended with %+v", in)
	}
}
