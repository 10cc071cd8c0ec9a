package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/workflows"
)

// anything matches every argument of a mock.
const anything = "mock.Anything"

// environment is one workflow with mocked activities and children.
type environment struct {
	*testsuite.TestWorkflowEnvironment
	t      *testing.T
	faults map[string]func() error // by activity or child: replaces its result
	queues map[string][]string     // by activity: queues of its attempts

	mu     sync.Mutex       // activities and children run concurrently
	inputs map[string][]any // by activity or child, in order
}

// newEnvironment returns an environment with every workflow and activity registered. An activity
// without a mock fails.
func newEnvironment(t *testing.T, suite *testsuite.WorkflowTestSuite) *environment {
	t.Helper()
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	e := &environment{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t,
		faults: map[string]func() error{}, inputs: map[string][]any{}, queues: map[string][]string{},
	}
	workflows.Register(e)
	registerActivities(e)
	e.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		e.queues[info.ActivityType.Name] = append(e.queues[info.ActivityType.Name], info.TaskQueue)
	})
	return e
}

// called records a call, and returns the fault that replaces its result, if any.
func (e *environment) called(name string, in any) error {
	e.note(name, in)
	if fault := e.faults[name]; fault != nil {
		return fault()
	}
	return nil
}

func (e *environment) note(name string, in any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inputs[name] = append(e.inputs[name], in)
}

// calls returns the number of calls of an activity or a child.
func (e *environment) calls(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.inputs[name])
}

// on mocks an activity.
func on[I, R any](e *environment, name string, reply func(I) (R, error)) *testsuite.MockCallWrapper {
	return e.OnActivity(name, anything, anything).Return(func(_ context.Context, in I) (out R, err error) {
		if err := e.called(name, in); err != nil {
			return out, err
		}
		return reply(in)
	})
}

// gives mocks an activity with one result.
func gives[I, R any](e *environment, name string, out R) *testsuite.MockCallWrapper {
	return on(e, name, func(I) (R, error) { return out, nil })
}

// does mocks an activity without a result.
func does[I any](e *environment, name string) *testsuite.MockCallWrapper {
	return gives[I](e, name, nothing{})
}

// child mocks a child workflow.
func child[I, R any](e *environment, name string, reply func(I) (R, error)) *testsuite.MockCallWrapper {
	return e.OnWorkflow(name, anything, anything).Return(func(_ workflow.Context, in I) (out R, err error) {
		if err := e.called(name, in); err != nil {
			return out, err
		}
		return reply(in)
	})
}

// inputsOf returns the inputs of an activity or a child.
func inputsOf[I any](e *environment, name string) (out []I) {
	e.t.Helper()
	for _, in := range e.inputs[name] {
		out = append(out, in.(I))
	}
	return out
}

// only returns the single input of an activity or a child.
func only[I any](e *environment, name string) (in I) {
	e.t.Helper()
	all := inputsOf[I](e, name)
	if len(all) != 1 {
		e.t.Fatalf("%s was called %d times", name, len(all))
	}
	return all[0]
}

// result returns the result of the workflow.
func result[R any](e *environment) (out R) {
	e.t.Helper()
	if err := e.GetWorkflowError(); err != nil {
		e.t.Fatalf("the workflow failed: %v", err)
	}
	if err := e.GetWorkflowResult(&out); err != nil {
		e.t.Fatal(err)
	}
	return out
}

// next returns the input with which the workflow continues as new.
func next[I any](e *environment) (in I) {
	e.t.Helper()
	var again *workflow.ContinueAsNewError
	if err := e.GetWorkflowError(); !errors.As(err, &again) {
		e.t.Fatalf("ended with %v, want continue as new", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
		e.t.Fatal(err)
	}
	return in
}

// Faults of an activity.

func refuses() error {
	return temporal.NewNonRetryableApplicationError("the model refused", "model_refused", nil)
}

func timesOut() error { return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil) }

func alreadyStarted() error {
	return serviceerror.NewWorkflowExecutionAlreadyStarted("it runs already", "", "")
}

// cancels cancels the workflow while an activity runs.
func (e *environment) cancels() error {
	e.CancelWorkflow()
	return temporal.NewCanceledError()
}

// errUnavailable is the error of a database that is unavailable, or of a target that another run
// holds.
var errUnavailable = errors.New("not available yet")

// once fails an activity's first attempt, like a briefly unavailable database.
func once() func() error {
	var failed atomic.Bool
	return func() error {
		if failed.Swap(true) {
			return nil
		}
		return errUnavailable
	}
}

// timeouts returns the timeouts of runs in tests.
func timeouts() contract.StepTimeouts {
	return contract.StepTimeouts{
		Tasks: 2, Model: time.Minute, Heartbeat: time.Second, Database: 5 * time.Second, GiveUp: time.Hour,
	}
}

var runRef = contract.RunRef{Workspace: 1, WorkspaceKey: "w1", Run: "run_7", Attempt: 1}

// endings describes how a workflow closes its run if a step fails.
type endings struct {
	workflow any
	input    any
	mock     func(e *environment) // every step succeeds
	steps    []string             // steps that end the run if they fail
	closing  string               // the activity that closes the run
}

// check runs the workflow with each step failing, timing out, being canceled, and failing once. The
// run must be closed every time, with the right code.
func (c endings) check(t *testing.T) {
	for _, step := range c.steps {
		for name, want := range map[string]string{
			"refused": "model_refused", "timeout": "unavailable", "cancelled": "cancelled", "retried": "",
		} {
			t.Run(step+" "+name, func(t *testing.T) {
				t.Parallel()
				e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
				c.mock(e)
				e.faults[step] = map[string]func() error{
					"refused": refuses, "timeout": timesOut, "cancelled": e.cancels, "retried": once(),
				}[name]
				e.ExecuteWorkflow(c.workflow, c.input)
				c.checkClosed(e, step, want)
			})
		}
	}
}

func (c endings) checkClosed(e *environment, step, want string) {
	e.t.Helper()
	if !e.IsWorkflowCompleted() {
		e.t.Fatal("the workflow has not ended")
	}
	closings := e.inputs[c.closing]
	if want == "" && len(closings) == 0 { // a successful activity may close the run itself
		if n := e.calls(step); n < 2 {
			e.t.Errorf("%s was tried %d times", step, n)
		}
		return
	}
	if len(closings) != 1 {
		e.t.Fatalf("%s was called %d times, want 1", c.closing, len(closings))
	}
	if code := codeOf(closings[0]); code != want {
		e.t.Errorf("closed with %q, want %q", code, want)
	}
	if err := e.GetWorkflowError(); (want == "cancelled") != temporal.IsCanceledError(err) {
		e.t.Errorf("the workflow ended with %v", err)
	}
}

// codeOf returns the code that a run is closed with.
func codeOf(closing any) string {
	switch in := closing.(type) {
	case contract.CloseInput:
		return in.Code
	case contract.EndTaskInput:
		return in.Code
	case contract.CloseOffloadInput:
		return in.Code
	case contract.CloseRefineInput:
		_, code, _ := strings.Cut(strings.TrimSuffix(in.Problem, ")"), "(")
		return code
	}
	return "unknown"
}

// Results of the steps of an agent.

// calling returns a response that calls tools.
func calling(calls ...agent.CallRef) contract.StepResult {
	var out contract.StepResult
	out.Calls = calls
	return out
}

// answering returns the last response, which closes the run.
func answering() contract.StepResult {
	ended := answer()
	return contract.StepResult{Ended: &ended}
}

func answer() contract.AgentResult {
	return contract.AgentResult{Reason: agent.Final, Steps: 1, ReplySeq: 4, Status: "saved", Saved: 1}
}

// responses mocks the steps of an agent, one result each.
func responses(e *environment, all ...contract.StepResult) {
	n := 0
	on(e, contract.Step, func(contract.StepInput) (contract.StepResult, error) {
		n++
		return all[min(n, len(all))-1], nil
	})
}

// closesAgent mocks the close of an agent: its row states the reason.
func closesAgent(e *environment) *testsuite.MockCallWrapper {
	return on(e, contract.CloseAgent, func(in contract.CloseAgentInput) (contract.AgentResult, error) {
		return contract.AgentResult{Reason: in.Reason, Status: "failed", ReplySeq: -1}, nil
	})
}

// agentInput returns a run of an agent with n model calls.
func agentInput(n int) contract.AgentInput {
	return contract.AgentInput{
		RunRef: runRef, Kind: "turn", Conversation: 2, Number: 3, Budget: agent.Budget{Max: n, Wall: time.Minute},
		Timeouts: timeouts(), Queue: contract.QueueLLM,
	}
}

// checkQueue checks that an activity ran on a queue.
func (e *environment) checkQueue(name, queue string) {
	e.t.Helper()
	if got := e.queues[name]; len(got) == 0 || slices.ContainsFunc(got, func(q string) bool { return q != queue }) {
		e.t.Errorf("%s ran on %q, want %s", name, got, queue)
	}
}
