package host_test

import (
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/config"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/internal/host"
	"cairn/internal/host/hosttest"
)

// A worker that cannot start must end, so that its service manager starts it again.
func TestWorkEndsWhenAQueueCannotStart(t *testing.T) {
	t.Parallel()
	b := hosttest.OpenIdle(t, func(c *config.Config) { c.TemporalNamespace = "nowhere" })
	ended := make(chan error, 1)
	go func() { ended <- b.Work(t.Context(), host.Queues()) }()
	select {
	case err := <-ended:
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("ended with %v, want unavailable", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still there after a minute")
	}
}

// A step that was under way when its worker was killed is noticed after the time
// that the run's configuration gives it, the first step too.
func TestTheFirstStepIsBoundedLikeTheOthers(t *testing.T) {
	t.Parallel()
	b := hosttest.Open(t, func(c *config.Config) { c.DatabaseStep = 7 * time.Second })
	r := b.Distill(hosttest.Conversation("short", "user: hello", "assistant: hi"))
	bounds := map[string]time.Duration{}
	events := b.Temporal.GetWorkflowHistory(t.Context(), r.WorkflowID, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT) // to its end
	for events.HasNext() {
		e, err := events.Next()
		hosttest.Must(t, err)
		if step := e.GetActivityTaskScheduledEventAttributes(); step != nil {
			bounds[step.ActivityType.Name] = step.StartToCloseTimeout.AsDuration()
		}
	}
	for _, step := range []string{flow.OpenRun, flow.CloseRun} {
		if bounds[step] != 7*time.Second {
			t.Errorf("%s may take %s, want 7s", step, bounds[step])
		}
	}
}
