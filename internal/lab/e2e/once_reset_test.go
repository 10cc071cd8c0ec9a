package e2e_test

import (
	"testing"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

const allOnce = "segment 1, extract 1, files 1"

// Case E1.
func TestResettingAFinishedRunRepeatsNothing(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.ScriptR1()
	r := p.Distill(apptest.C1())
	p.ended(r, run.Completed, distillation.Created)
	ops := p.number("select count(*) from tool_op_log")
	for _, id := range []string{r.WorkflowID, r.Tasks[0].WorkflowID, r.WorkflowID} {
		if status := p.finished(id, p.reset(id)); status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			t.Errorf("%s after its reset: %s", id, status)
		}
	}
	p.asked(allOnce)
	p.skills(1, 1)
	if n := p.number("select count(*) from tool_op_log"); n != ops {
		t.Errorf("%d operations logged, were %d", n, ops)
	}
	p.ended(p.Wait(run.Ref{Workspace: p.Workspace.ID, Run: r.Run}), run.Completed, distillation.Created)
}

// Case E6: the parent is reset while the task's child workflow is running.
func TestResettingARunWhoseTaskIsUnderWayRepeatsNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", Reply: apptest.R1Extract})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("extract", 1)
	again := p.reset(r.WorkflowID)
	p.until("the new execution to meet the task", func() bool { return p.scheduled(r.WorkflowID, again, "AwaitTask") })
	p.Model.Release("extract")
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
	if status := p.finished(r.WorkflowID, again); status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the new execution: %s", status)
	}
	p.asked(allOnce)
	p.paidOnce()
	p.skills(1, 1)
}

func TestResettingATaskUnderWayPaysNoReplyTwice(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "files", Barrier: "files", Reply: apptest.R1Files})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("files", 1)
	tasks := p.report(r.Ref).Tasks
	p.reset(tasks[0].WorkflowID)
	p.Model.Release("files")
	p.until("the skill", func() bool { return p.number("select count(*) from skills") == 1 })
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
	p.skills(1, 1)
	// The held call may have been interrupted and sent again. Stored replies are not requested
	// again.
	for stage, n := range map[string]int{"segment": 1, "extract": 1} {
		if got := p.Model.Count(stage); got != n {
			t.Errorf("%d requests for %s, want %d", got, stage, n)
		}
	}
}

// scheduled reports whether an execution has scheduled an activity.
func (p *protocol) scheduled(workflowID, execution, activity string) bool {
	p.t.Helper()
	history := p.Temporal.GetWorkflowHistory(p.t.Context(), workflowID, execution, false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		testkit.Must(p.t, err)
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity {
			return true
		}
	}
	return false
}

func (p *protocol) report(ref run.Ref) distill.Report {
	p.t.Helper()
	r, err := p.App.Distill.Report(p.t.Context(), ref)
	testkit.Must(p.t, err)
	return r
}
