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

var deliverInput = contract.DeliverInput{Workspace: 1, WorkspaceKey: "w", Route: 7, Account: "ada"}

// mockDeliver mocks a route with open deliveries, each with two messages.
func mockDeliver(e *environment, open ...int64) {
	on(e, contract.NextDelivery, func(contract.DeliverInput) (out contract.NextDeliveryResult, err error) {
		if len(open) > 0 {
			out.Delivery = open[0]
		}
		return out, nil
	})
	parts := 0
	on(e, contract.SendPart, func(contract.DeliveryInput) (out contract.SendPartResult, err error) {
		if parts++; parts%2 == 0 {
			out.Done, open = true, open[1:]
			return out, nil
		}
		out.Spacing = time.Second
		return out, nil
	})
	on(e, contract.GiveUp, func(contract.GiveUpInput) (nothing, error) {
		open = open[1:]
		return nothing{}, nil
	})
}

func TestDeliverSendsOneDeliveryAfterAnother(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDeliver(e, 3, 5)
	began := e.Now()
	e.ExecuteWorkflow(workflows.Deliver, deliverInput)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var sent []int64
	for _, in := range inputsOf[contract.DeliveryInput](e, contract.SendPart) {
		sent = append(sent, in.Delivery)
	}
	if !slices.Equal(sent, []int64{3, 3, 5, 5}) {
		t.Errorf("sent %v", sent)
	}
	if took := e.Now().Sub(began); took < 2*time.Second {
		t.Errorf("it took %s, without the waits", took)
	}
	e.checkQueue(contract.SendPart, "cairn-deliver/ada")
}

func TestDeliverGivesUpAndContinuesWithTheNext(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDeliver(e, 3, 5)
	failed := false
	e.faults[contract.SendPart] = func() error {
		if failed {
			return nil
		}
		failed = true
		return refuses()
	}
	e.ExecuteWorkflow(workflows.Deliver, deliverInput)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	given := only[contract.GiveUpInput](e, contract.GiveUp)
	if given.Delivery != 3 || given.Reason == "" || e.calls(contract.SendPart) != 3 {
		t.Errorf("%+v, %d attempts to send", given, e.calls(contract.SendPart))
	}
}

func TestDeliverRetriesAMessage(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDeliver(e, 3)
	times := 0
	e.faults[contract.SendPart] = func() error {
		if times++; times < 4 {
			return temporal.NewApplicationError("rate limited", "rate_limited")
		}
		return nil
	}
	e.ExecuteWorkflow(workflows.Deliver, deliverInput)
	if err := e.GetWorkflowError(); err != nil || e.calls(contract.GiveUp) != 0 || e.calls(contract.SendPart) != 5 {
		t.Errorf("%v, %d attempts", err, e.calls(contract.SendPart))
	}
}

func TestDeliverContinuesAsNew(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	var many []int64
	for i := range int64(150) {
		many = append(many, i+1)
	}
	mockDeliver(e, many...)
	e.ExecuteWorkflow(workflows.Deliver, deliverInput)
	if again := next[contract.DeliverInput](e); again != deliverInput || e.calls(contract.SendPart) != 200 {
		t.Errorf("%+v after %d messages", again, e.calls(contract.SendPart))
	}
}

func TestDeliverEndsWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockDeliver(e, 3)
	e.faults[contract.SendPart] = e.cancels
	e.ExecuteWorkflow(workflows.Deliver, deliverInput)
	if e.GetWorkflowError() == nil || e.calls(contract.GiveUp) != 0 {
		t.Errorf("%v; the delivery was given up %d times", e.GetWorkflowError(), e.calls(contract.GiveUp))
	}
}
