package host_test

import (
	"testing"
	"time"

	"cairn/internal/config"
	"cairn/internal/fault"
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
	case <-time.After(20 * time.Second):
		t.Fatal("still there after 20 s")
	}
}
