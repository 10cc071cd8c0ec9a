package relay_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"cairn/internal/adapter/launcher"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// Case E7: the caller crashed before the workflow of its run was started.
func TestAnAcceptedRunIsStarted(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	admin := connect(t, b.AdminURL)
	r := b.Accept(apptest.C1())
	pass := func(want int) {
		t.Helper()
		if n, err := b.Relay.Pass(t.Context()); err != nil || n != want {
			t.Fatalf("took %d duties, %v; want %d", n, err, want)
		}
	}
	pass(0) // it is left to its caller for a moment
	if _, err := b.Temporal.DescribeWorkflow(t.Context(), r.WorkflowID, ""); !isNotFound(err) {
		t.Fatalf("before the relay: %v", err)
	}
	exec(t, admin, "update outbox set due_at = now()")
	pass(1)
	first := running(t, b, r)
	exec(t, admin, "update outbox set due_at = now()")
	pass(1)
	if again := running(t, b, r); again != first {
		t.Errorf("a second pass started execution %s in addition to %s", again, first)
	}
	if n := scan[int](t, admin, "select count(*) from outbox where last_error = ''"); n != 1 {
		t.Error("the duty does not stay until the run has ended")
	}
}

// A workflow that closes without ending its run is followed by at most three other attempts. Then the
// run ends, and says why.
func TestARunWhoseWorkflowsCloseIsDrivenAgainAndThenLost(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	admin := connect(t, b.AdminURL)
	r := b.Accept(apptest.C1())
	pass := func() {
		t.Helper()
		exec(t, admin, "update outbox set due_at = now()")
		if _, err := b.Relay.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	for attempt := 2; attempt <= 4; attempt++ {
		testkit.Must(t, b.Temporal.TerminateWorkflow(t.Context(), r.WorkflowID, "", "by an operator"))
		pass()
		r.WorkflowID = scan[string](t, admin, "select workflow_id from runs")
		if !strings.HasSuffix(r.WorkflowID, fmt.Sprintf("/retry-%d", attempt)) ||
			scan[int](t, admin, "select attempt from runs") != attempt {
			t.Fatalf("attempt %d is the workflow %s", attempt, r.WorkflowID)
		}
		first := running(t, b, r)
		pass()
		if running(t, b, r) != first || scan[int](t, admin, "select attempt from runs") != attempt {
			t.Fatalf("attempt %d was replaced while it ran", attempt)
		}
	}
	testkit.Must(t, b.Temporal.TerminateWorkflow(t.Context(), r.WorkflowID, "", "by an operator"))
	pass()
	var status, outcome, reason string
	testkit.Must(t, admin.QueryRow(t.Context(), "select status, outcome, reason from runs").
		Scan(&status, &outcome, &reason))
	if status != string(run.Ended) || outcome != string(run.Failed) || !strings.Contains(reason, "closed") {
		t.Errorf("the run is %s %s: %q", status, outcome, reason)
	}
	if n := scan[int](t, admin, "select count(*) from outbox"); n != 0 {
		t.Errorf("%d outbox tasks are left", n)
	}
}

func TestWithoutTemporalTheDutyIsNotedAndKept(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	admin := connect(t, b.AdminURL)
	r := b.Accept(apptest.C1())
	exec(t, admin, "update outbox set due_at = now()")
	down, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Namespace: "x",
		Logger: temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	testkit.Must(t, err)
	defer down.Close()
	broken := *b.Relay
	broken.Driver = launcher.Driver{Client: down}
	if n, err := broken.Pass(t.Context()); err != nil || n != 1 {
		t.Errorf("took %d duties, %v", n, err)
	}
	if why := scan[string](t, admin, "select last_error from outbox where attempts = 1"); why == "" {
		t.Error("nothing was noted")
	}
	if status := scan[string](t, admin, "select status from runs"); status != string(run.Accepted) {
		t.Errorf("the run is %s", status)
	}
	for range outbox.StuckFailures - 1 {
		exec(t, admin, "update outbox set due_at = now()")
		_, err := broken.Pass(t.Context())
		testkit.Must(t, err)
	}
	stuck := func() int64 {
		seen, err := b.Store.Backlog(t.Context())
		testkit.Must(t, err)
		return seen.Stuck[outbox.DriveRun].Count
	}
	var logged strings.Builder
	broken.Log = slog.New(slog.NewTextHandler(&logged, nil))
	testkit.Must(t, broken.Tidy(t.Context()))
	if n := stuck(); n != 1 || !strings.Contains(logged.String(), "makes no progress") {
		t.Errorf("%d stuck tasks after %d failures; logged %s", n, outbox.StuckFailures, logged.String())
	}
	exec(t, admin, "update outbox set due_at = now()")
	if _, err := b.Relay.Pass(t.Context()); err != nil {
		t.Error(err)
	}
	running(t, b, r)
	if n := stuck(); n != 0 {
		t.Errorf("%d stuck tasks after a success", n)
	}
}

// running is the execution of a run's workflow.
func running(t *testing.T, b *apptest.Bundle, r run.Run) string {
	t.Helper()
	d, err := b.Temporal.DescribeWorkflow(t.Context(), r.WorkflowID, "")
	testkit.Must(t, err)
	if s := d.RawResponse.WorkflowExecutionInfo.Status; s != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Fatalf("the workflow is %s", s)
	}
	return d.RawResponse.WorkflowExecutionInfo.Execution.RunId
}

func isNotFound(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
