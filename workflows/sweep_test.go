package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

var sweepInput = contract.SweepInput{Timeouts: timeouts(), Rows: 50, SoFar: contract.SweepCounts{Looked: 100}}

// mockSweep mocks pages of due tasks.
func mockSweep(e *environment, pages int) {
	on(e, contract.SweepPage, func(contract.SweepPageInput) (contract.SweepCounts, error) {
		return contract.SweepCounts{
			Looked: 4, Started: 1, Empty: 1, Skipped: 2, More: e.calls(contract.SweepPage) < pages,
		}, nil
	})
}

func TestSweepAddsItsPagesUp(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockSweep(e, 3)
	e.ExecuteWorkflow(workflows.Sweep, sweepInput)
	want := contract.SweepCounts{Looked: 112, Started: 3, Empty: 3, Skipped: 6}
	if out := result[contract.SweepCounts](e); out != want {
		t.Errorf("%+v, want %+v", out, want)
	}
	claims := map[string]bool{}
	for _, in := range inputsOf[contract.SweepPageInput](e, contract.SweepPage) {
		claims[in.Claim] = true
		if in.Rows != 50 || in.Heartbeat != timeouts().Heartbeat {
			t.Errorf("%+v", in)
		}
	}
	if len(claims) != 3 {
		t.Errorf("pages were claimed as %v", claims)
	}
}

func TestSweepContinuesAsNewAfterItsPages(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]int{0: 20, 2: 2} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSweep(e, 1000)
		in := sweepInput
		in.Pages = given
		e.ExecuteWorkflow(workflows.Sweep, in)
		again := next[contract.SweepInput](e)
		if again.Runs != 1 || again.SoFar.Started != want || again.SoFar.Looked != 100+4*want || again.Rows != 50 {
			t.Errorf("of %d pages: goes on with %+v", given, again)
		}
	}
}

func TestSweepTriesAPageAgainUnderItsClaim(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockSweep(e, 1)
	e.faults[contract.SweepPage] = once()
	e.ExecuteWorkflow(workflows.Sweep, sweepInput)
	result[contract.SweepCounts](e)
	in := inputsOf[contract.SweepPageInput](e, contract.SweepPage)
	if len(in) != 2 || in[0].Claim != in[1].Claim {
		t.Errorf("%+v", in)
	}
}

func TestSweepFailsAsItsPageDoes(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"refused": false, "timeout": false, "cancelled": true} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockSweep(e, 1)
		e.faults[contract.SweepPage] = map[string]func() error{
			"refused": refuses, "timeout": timesOut, "cancelled": e.cancels,
		}[name]
		e.ExecuteWorkflow(workflows.Sweep, sweepInput)
		if err := e.GetWorkflowError(); err == nil || temporal.IsCanceledError(err) != cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
}
