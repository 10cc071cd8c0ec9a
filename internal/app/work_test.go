package app_test

import (
	"maps"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// A worker that cannot start must end, so that its service manager starts it again.
func TestWorkEndsWhenAQueueCannotStart(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) { c.TemporalNamespace = "nowhere" })
	ended := make(chan error, 1)
	go func() { ended <- b.Work(t.Context(), app.Queues()) }()
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
// that the run's configuration gives it, the first step too, which calls a model.
func TestTheFirstStepIsBoundedLikeTheOthers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.DatabaseStep, c.Heartbeat = 7*time.Second, 9*time.Second })
	r := b.Distill(apptest.Conversation("short", "user: hello", "assistant: hi"))
	bounds := map[string]time.Duration{}
	// to its end
	events := b.Temporal.GetWorkflowHistory(t.Context(), r.WorkflowID, "", true,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		testkit.Must(t, err)
		if step := e.GetActivityTaskScheduledEventAttributes(); step != nil {
			bounds[step.ActivityType.Name] = step.StartToCloseTimeout.AsDuration()
			if beat := step.HeartbeatTimeout.AsDuration(); beat > 0 {
				bounds[step.ActivityType.Name] = beat
			}
		}
	}
	if want := map[string]time.Duration{contract.Segment: 9 * time.Second,
		contract.CloseRun: 7 * time.Second}; !maps.Equal(bounds, want) {
		t.Errorf("a dead worker is noticed after %v, want %v", bounds, want)
	}
}
