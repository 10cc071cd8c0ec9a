package e2e_test

import (
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/app/config"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

func TestACancelledRunEndsAndCanBeRetried(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", Times: 1, Reply: apptest.R1Extract})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("extract", 1)
	testkit.Must(t, p.Temporal.CancelWorkflow(t.Context(), r.WorkflowID, ""))
	report := p.Wait(r.Ref)
	p.ended(report, run.CancelledOutcome, distillation.Failed)
	if task := report.Tasks[0]; !strings.HasPrefix(task.Reason, string(fault.Cancelled)+":") {
		t.Errorf("the task ended because of %q", task.Reason)
	}
	for _, id := range []string{report.WorkflowID, report.Tasks[0].WorkflowID} {
		if status := p.finished(id, ""); status != enums.WORKFLOW_EXECUTION_STATUS_CANCELED {
			t.Errorf("%s: %s", id, status)
		}
	}
	p.until("the call to be given up", func() bool {
		return p.number("select count(*) from llm_calls where state = 'started'") == 0
	})

	p.ended(p.retry(r.Ref, false), run.Completed, distillation.Created)
	p.asked("segment 1, extract 2, files 1")
	p.paidOnce()
	p.skills(1, 1)
	if u := p.report(r.Ref).Usage; u.Unknown != 1 {
		t.Errorf("%d calls unknown, want the one that was cut off", u.Unknown)
	}
}

func TestACancelledRunLeavesNoTaskOpen(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t, func(c *config.Config) { c.Concurrency = 1 })
	p.scriptTwoTasks()
	p.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", Times: 1, Reply: skipped})
	p.Model.On(openaitest.Rule{Stage: "extract", Reply: skipped})
	r := p.begin(apptest.C1())
	p.atBarrier("extract", 1) // the second task waits for its place
	testkit.Must(t, p.Temporal.CancelWorkflow(t.Context(), r.WorkflowID, ""))
	p.ended(p.Wait(r.Ref), run.CancelledOutcome, distillation.Failed, distillation.Failed)
	p.ended(p.retry(r.Ref, false), run.NothingToExtract, distillation.Skipped, distillation.Skipped)
}

// scriptTwoTasks divides C1 after its eighth message.
func (p *protocol) scriptTwoTasks() {
	p.Model.On(openaitest.Rule{Stage: "segment",
		Reply: `[{"task_id":1,"task_name":"Restore the service","message_indices":[[0,7]],"reasoning":"x"},
{"task_id":2,"task_name":"Report to the user","message_indices":[[8,13]],"reasoning":"y"}]`})
}

const skipped = `{"action":"skip","reason":"nothing new"}`

// A terminated workflow cannot close its run, so the relay starts another attempt.
func TestATerminatedRunIsDrivenToItsEnd(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, stage := range map[string]string{"before its tasks": "segment", "during its task": "extract"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openProtocol(t)
			p.Model.On(openaitest.Rule{Stage: stage, Barrier: "held", Times: 1,
				Reply: map[string]string{"segment": apptest.R1Segment, "extract": apptest.R1Extract}[stage]})
			p.ScriptR1()
			r := p.begin(apptest.C1())
			p.atBarrier("held", 1)
			testkit.Must(t, p.Temporal.TerminateWorkflow(t.Context(), r.WorkflowID, "", "test"))
			p.Model.Release("held")
			p.exec("update outbox set due_at = now()")
			p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
			p.paidOnce()
			p.skills(1, 1)
			status := p.finished(p.report(r.Ref).WorkflowID, "")
			if status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED && stage == "segment" {
				// while its task runs, it is not needed: the task's commit ends the run
				t.Errorf("the workflow is %s", status)
			}
		})
	}
}

// A user terminates the task's own workflow: no workflow is left to end the task.
func TestARunWhoseTaskWasTerminatedEndsAndCanBeRetried(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", Times: 1, Reply: apptest.R1Extract})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("extract", 1)
	testkit.Must(t, p.Temporal.TerminateWorkflow(t.Context(), p.report(r.Ref).Tasks[0].WorkflowID, "", "test"))
	report := p.Wait(r.Ref)
	p.ended(report, run.Failed, distillation.Failed)
	if report.Tasks[0].Reason == "" {
		t.Error("the task does not say why")
	}
	p.ended(p.retry(r.Ref, false), run.Completed, distillation.Created)
	p.skills(1, 1)
}

// Case E7: accepted, and the process stopped before it started the workflow.
func TestAnAcceptedRunRunsWithoutItsCaller(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.ScriptR1()
	r := p.Accept(apptest.C1())
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
	p.asked(allOnce)
}

func TestStartingARunTwiceIsOneExecution(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.ScriptR1()
	r := p.begin(apptest.C1())
	for range 3 {
		testkit.Must(t, p.Driver.Start(t.Context(), p.Workspace.Key, "import", r))
	}
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
	p.finished(r.WorkflowID, "")
	testkit.Must(t, p.Driver.Start(t.Context(), p.Workspace.Key, "import", r)) // it has run
	if again := p.Accept(apptest.C1()); again.Ref != r.Ref {
		t.Errorf("the same request is run %s, was %s", again.Ref.Run, r.Ref.Run)
	}
	p.asked(allOnce)
}

func TestARunThatHasNotEndedCannotBeRetried(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "segment", Barrier: "segment", Times: 1, Reply: apptest.R1Segment})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("segment", 1)
	for _, fresh := range []bool{false, true} {
		_, err := p.App.Distill.Retry(t.Context(),
			distill.RetryRequest{Ref: r.Ref, WorkspaceKey: p.Workspace.Key, Fresh: fresh})
		if fault.CodeOf(err) != fault.VersionConflict {
			t.Errorf("fresh %t: %v, want %s", fresh, err, fault.VersionConflict)
		}
	}
	p.Model.Release("segment")
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
}
