package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

// The files once_*_test.go test the protocol of effects that happen once, case by case, from the
// request to the package.

// protocol is a bundle with access to internal state.
type protocol struct {
	*apptest.Bundle
	t     *testing.T
	admin *pgxpool.Pool
}

func openProtocol(t *testing.T, change ...func(*config.Config)) *protocol {
	t.Helper()
	p := &protocol{Bundle: apptest.Open(t, change...), t: t}
	c, err := pgxpool.ParseConfig(p.AdminURL)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	p.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(p.admin.Close)
	return p
}

// begin accepts a request and starts its workflow.
func (p *protocol) begin(c transcript.Conversation, change ...func(*distill.Request)) run.Run {
	p.t.Helper()
	r := p.Accept(c, change...)
	testkit.Must(p.t, p.Driver.Start(p.t.Context(), p.Workspace.Key, "import", r))
	return r
}

// retry retries an ended run and waits for its end.
func (p *protocol) retry(ref run.Ref, fresh bool) distill.Report {
	p.t.Helper()
	r, err := p.App.Distill.Retry(p.t.Context(),
		distill.RetryRequest{Ref: ref, WorkspaceKey: p.Workspace.Key, Fresh: fresh,
			Spec: app.DistillSpec(p.Config, transcript.ExtractAuto)})
	testkit.Must(p.t, err)
	testkit.Must(p.t, p.Driver.Start(p.t.Context(), p.Workspace.Key, "import", r))
	return p.Wait(r.Ref)
}

// atBarrier waits until n requests are at a barrier.
func (p *protocol) atBarrier(name string, n int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	testkit.Must(p.t, p.Model.AwaitBarrier(ctx, name, n))
}

// asked checks the number of requests of each stage, such as "segment 1, extract 2". It ignores
// merges, whose number depends on the order of commits.
func (p *protocol) asked(want string) {
	p.t.Helper()
	counts := map[string]int{}
	for _, c := range p.Model.Requests() {
		counts[c.Stage]++
	}
	var got []string
	for _, stage := range []string{"segment", "extract", "files"} {
		if counts[stage] > 0 {
			got = append(got, fmt.Sprintf("%s %d", stage, counts[stage]))
		}
	}
	if line := strings.Join(got, ", "); line != want {
		p.t.Errorf("requests: %s; want %s", line, want)
	}
}

// paidOnce checks that no reply was produced twice for one key and body.
func (p *protocol) paidOnce() {
	p.t.Helper()
	for key, n := range p.Model.Paid() {
		if n > 1 {
			p.t.Errorf("a reply was paid %d times: %s", n, key)
		}
	}
}

// ended checks the outcome of a run and the outcomes of its tasks in any order.
func (p *protocol) ended(r distill.Report, outcome run.Outcome, tasks ...distillation.Outcome) {
	p.t.Helper()
	var got []distillation.Outcome
	for _, task := range r.Tasks {
		got = append(got, task.Outcome)
	}
	slices.Sort(got)
	slices.Sort(tasks)
	if r.Outcome != outcome || !slices.Equal(got, tasks) {
		p.t.Errorf("run ended as %q (%s %s) with tasks %v; want %q with %v; %+v", r.Outcome, r.Code, r.Reason, got,
			outcome, tasks, r.Tasks)
	}
	if n := p.number("select count(*) from outbox where kind in ('turn', 'drive') and key = $1",
		fmt.Sprint(r.Run)); n != 0 {
		p.t.Errorf("%d duties to drive an ended run", n)
	}
}

// number returns the result of a query by the superuser.
func (p *protocol) number(sql string, args ...any) (n int) {
	p.t.Helper()
	if err := p.admin.QueryRow(p.t.Context(), sql, args...).Scan(&n); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (p *protocol) exec(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.admin.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// skills checks the number of skills and versions.
func (p *protocol) skills(skills, versions int) {
	p.t.Helper()
	if s, v := p.number("select count(*) from skills"),
		p.number("select count(*) from skill_versions"); s != skills || v != versions {
		p.t.Errorf("%d skills with %d versions, want %d with %d", s, v, skills, versions)
	}
}

// finished waits for an execution to close and returns its status.
func (p *protocol) finished(workflowID, execution string) enums.WorkflowExecutionStatus {
	p.t.Helper()
	var status enums.WorkflowExecutionStatus
	p.until(workflowID+" to close", func() bool {
		d, err := p.Temporal.DescribeWorkflow(p.t.Context(), workflowID, execution)
		testkit.Must(p.t, err)
		status = d.RawResponse.WorkflowExecutionInfo.Status
		return status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	return status
}

// reset resets a workflow to its first task and returns the new execution.
func (p *protocol) reset(workflowID string) (execution string) {
	p.t.Helper()
	var first int64
	history := p.Temporal.GetWorkflowHistory(p.t.Context(), workflowID, "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for first == 0 && history.HasNext() {
		event, err := history.Next()
		testkit.Must(p.t, err)
		if event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			first = event.EventId
		}
	}
	out, err := p.Temporal.ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: p.Config.TemporalNamespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID},
		Reason: "test", WorkflowTaskFinishEventId: first,
		RequestId: fmt.Sprint("reset-", time.Now().UnixNano()),
		ResetReapplyExcludeTypes: []enums.ResetReapplyExcludeType{enums.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
			enums.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE}})
	testkit.Must(p.t, err)
	return out.RunId
}

func (p *protocol) until(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(45 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// named returns C1 under another name, with a distinct word in its first message.
func named(id, word string) transcript.Conversation {
	c := apptest.C1()
	c.ID, c.Title = id, id
	c.Messages[0].Content = word + ": " + c.Messages[0].Content
	return c
}

// scriptText makes the model create no files: it returns a task, and drafts by the
// word in the conversation.
func (p *protocol) scriptText(extract func(openaitest.Call) string, change ...func(*openaitest.Rule)) {
	rule := openaitest.Rule{Stage: "extract", ReplyFunc: extract}
	for _, f := range change {
		f(&rule)
	}
	p.Model.On(openaitest.Rule{Stage: "segment", Reply: apptest.R1Segment})
	p.Model.On(rule)
	p.Model.On(openaitest.Rule{Stage: "merge", ReplyFunc: extract})
}

// lesson returns a draft of one skill that differs only in its lesson.
func lesson(word string) string {
	return fmt.Sprintf(`{"name":"Service Deployment Rollback","description":"Restore a failing service to its last `+
		`healthy release","trigger":["rollback"],
"procedure":"1. Confirm the symptom\n2. Roll back","experience":["Lesson of `+
		`%s"],"preference":[],"examples":[],"scripts":[],"tool":[],"others":{},"update":false,"old_memory_id":""}`,
		word)
}

// wordOf returns the word that a request contains.
func wordOf(c openaitest.Call, words ...string) string {
	for _, w := range words {
		if strings.Contains(string(c.Body), w+": Checkout") {
			return w
		}
	}
	return "nobody"
}
