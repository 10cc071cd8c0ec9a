package e2e_test

import (
	"testing"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// A server dispatches eagerly only activities on the queue of the requesting workflow.
func TestATurnRunsOnTheQueueOfItsSteps(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Say("c", 1, "I like tea.")
	turn, steps := "", 0
	events := b.Temporal.GetWorkflowHistory(t.Context(), turnID(b, "c", "m1"), "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		testkit.Must(t, err)
		if begun := e.GetWorkflowExecutionStartedEventAttributes(); begun != nil {
			turn = begun.TaskQueue.Name
		}
		if step := e.GetActivityTaskScheduledEventAttributes(); step != nil {
			if steps++; step.TaskQueue.Name != turn {
				t.Errorf("%s is on %s, its workflow on %s", step.ActivityType.Name, step.TaskQueue.Name, turn)
			}
		}
	}
	if turn != contract.QueueLLM || steps != 1 {
		t.Errorf("%d steps of a workflow on %q", steps, turn)
	}
}
