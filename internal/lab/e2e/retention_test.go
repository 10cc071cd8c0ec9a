package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/relay"
	"cairn/internal/testkit"
)

// After their retention, the records of how results came about are removed. The results stay: skills,
// conversations and memories.
func TestRecordsAreRemovedAfterTheirRetentionAndResultsStay(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	learnt := b.Distill(apptest.C1())
	for i := range 3 {
		b.Say("talk", i+1, "Good morning. "+strings.Repeat("It rains. ", 20))
	}
	turn := run.Ref{Workspace: b.Workspace.ID, Run: b.Say("talk", 4, "Good afternoon").Run}
	b.Relay.Keep = relay.Retention{Calls: 30 * 24 * time.Hour, Runs: 90 * 24 * time.Hour,
		Operations: 30 * 24 * time.Hour, Audit: 400 * 24 * time.Hour}
	rows := func() (out [6]int) {
		for i, table := range []string{"llm_calls", "request_parts", "agent_steps", "distill_files", "tool_op_log",
			"audit_events"} {
			out[i] = count(b, "select count(*) from cairn."+table)
		}
		return out
	}
	age := func(days int) {
		t.Helper()
		for _, set := range []string{"llm_calls set created_at = created_at - $",
			"tool_op_log set created_at = created_at - $",
			"request_parts set used_on = used_on - $", "runs set created_at = created_at - $, ended_at = ended_at - $",
			"audit_events set at = at - $"} {
			exec(b, "update cairn."+strings.ReplaceAll(set, "$", fmt.Sprintf("interval '%d days'", days)))
		}
		testkit.Must(t, b.Relay.Prune(t.Context()))
	}
	before := rows()
	age(29)
	if now := rows(); now != before || before[0] == 0 || before[1] == 0 || before[2] == 0 || before[4] == 0 {
		t.Fatalf("after 29 days: %v, before %v", now, before)
	}
	age(3)
	if now := rows(); now != [6]int{0, 0, before[2], before[3], 0, before[5]} {
		t.Errorf("after 32 days: %v, before %v", now, before)
	}
	ref := run.Ref{Workspace: b.Workspace.ID, Run: learnt.Run}
	_, err := b.Runs.Exchanges(t.Context(), ref, "")
	if f := fault.From(err); f == nil || f.Code != fault.NotFound || f.Hint == "" {
		t.Errorf("the calls after their retention: %v", err)
	}
	age(60)
	if now := rows(); now != [6]int{0, 0, 0, 0, 0, before[5]} {
		t.Errorf("after 92 days: %v, before %v", now, before)
	}
	for _, ref := range []run.Ref{ref, turn} {
		about, err := b.Runs.Report(t.Context(), ref)
		if err != nil || about.Report.Pruned != run.PrunedAll || about.Report.Outcome != run.Completed {
			t.Errorf("run %s after its retention: %+v, %v", ref.Run, about.Report, err)
		}
	}
	if n := count(b, "select count(*) from cairn.skills where status = 'active'"); n != 1 {
		t.Errorf("%d skills are active", n)
	}
	replied := b.Say("talk", 4, "Good afternoon") // the same message again
	if replied.Run != turn.Run || replied.Reply == "" {
		t.Errorf("a repeated message after its retention: %+v", replied)
	}
	if n := count(b, "select max(pg_column_size(spec)) from cairn.runs"); n > 120 {
		t.Errorf("the configuration of a run keeps %d bytes", n)
	}
	reply := b.Say("talk", 5, "Good evening")
	if n := count(b, "select count(*) from cairn.messages where conversation_id = (select id from cairn.conversations "+
		"where external_id = 'talk')"); n != 10 {
		t.Errorf("%d messages after another turn, which replied %+v", n, reply)
	}
	age(400)
	if n := count(b, "select count(*) from cairn.audit_events"); n != 0 {
		t.Errorf("%d audit events are left", n)
	}
}

// An open run keeps its records, however old they are.
func TestAnOpenRunKeepsItsRecords(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	b.Distill(apptest.C1())
	b.Stop() // its workflow would end the run again
	exec(b, "update cairn.runs set status = 'running', outcome = '', ended_at = null")
	before := count(b, "select (select count(*) from cairn.llm_calls) + (select count(*) from cairn.tool_op_log)")
	exec(b, "update cairn.llm_calls set created_at = created_at - interval '1 year'")
	exec(b, "update cairn.tool_op_log set created_at = created_at - interval '1 year'")
	b.Relay.Keep = relay.Retention{Calls: 24 * time.Hour, Runs: 24 * time.Hour, Operations: 24 * time.Hour}
	testkit.Must(t, b.Relay.Prune(t.Context()))
	if n := count(
		b,
		"select (select count(*) from cairn.llm_calls) + (select count(*) from cairn.tool_op_log)",
	); n != before ||
		n == 0 {
		t.Errorf("%d of %d records are left", n, before)
	}
}

// A workflow that Temporal still has can be reset, and then needs its records.
func TestAWorkerRefusesARetentionThatIsShorterThanTemporals(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	_, err := b.App.Temporal.WorkflowService().UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: b.Config.TemporalNamespace,
		Config:    &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(72 * time.Hour)}})
	testkit.Must(t, err)
	b.Stop()
	b.App.Config.RetentionRuns = 48 * time.Hour
	testkit.Eventually(t, "the worker is refused", func() bool { // the server caches its namespaces
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := fault.From(b.App.Work(ctx, []string{contract.QueueMain}))
		return f != nil && f.Code == fault.Misconfigured && strings.Contains(f.Message, "CAIRN_RETENTION_RUNS") &&
			strings.Contains(f.Hint, "72h")
	})
}
