package activities

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
)

// calls records the calls of a service, and holds the error that it returns.
type calls struct {
	last string
	err  error
}

func (c *calls) note(format string, args ...any) error {
	c.last = fmt.Sprintf(format, args...)
	return c.err
}

// environment runs
func environment(t *testing.T) *testsuite.TestActivityEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return suite.NewTestActivityEnvironment()
}

// execute runs an activity with a result.
func execute[I, R any](t *testing.T, fn func(context.Context, I) (R, error), in I) (out R, err error) {
	t.Helper()
	e := environment(t)
	e.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: "Activity"})
	value, err := e.ExecuteActivity("Activity", in)
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

// perform runs an activity without a result.
func perform[I any](t *testing.T, fn func(context.Context, I) error, in I) error {
	t.Helper()
	e := environment(t)
	e.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: "Activity"})
	_, err := e.ExecuteActivity("Activity", in)
	return err
}

// translates checks that an activity calls its service with its input, and returns the result of
// the service.
func translates[I, R any](
	t *testing.T, fn func(context.Context, I) (R, error), in I, c *calls, called string, want R,
) {
	t.Helper()
	out, err := execute(t, fn, in)
	if err != nil || !reflect.DeepEqual(out, want) {
		t.Errorf("%s gives %+v, %v; want %+v", called, out, err, want)
	}
	if c.last != called {
		t.Errorf("called %q, want %q", c.last, called)
	}
}

// calling checks that an activity without a result calls its service with its input.
func calling[I any](t *testing.T, fn func(context.Context, I) error, in I, c *calls, called string) {
	t.Helper()
	if err := perform(t, fn, in); err != nil || c.last != called {
		t.Errorf("called %q, %v; want %q", c.last, err, called)
	}
}

// runRef is run run_7 of workspace 1.
var runRef = contract.RunRef{Workspace: 1, WorkspaceKey: "w1", Run: "run_7", Attempt: 2}

// of formats the reference of a run.
func of(ref run.Ref) string { return fmt.Sprintf("%d/%s", ref.Workspace, ref.Run) }
