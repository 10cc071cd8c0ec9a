package speed

import (
	"strings"
	"testing"
	"time"
)

func TestAMedianAboveTheGoalIsMissed(t *testing.T) {
	t.Parallel()
	at := func(server string, median time.Duration) Measurement {
		return Measurement{Server: server, Latency: Latency{Critical: 800 * time.Millisecond, Median: median}}
	}
	good, bad := at(InMemory, 1150*time.Millisecond), at(InFile, 1250*time.Millisecond)
	if err := DistillMissed([]Measurement{good}); err != nil {
		t.Error(err)
	}
	if err := DistillMissed([]Measurement{good, bad}); err == nil ||
		!strings.Contains(err.Error(), "1.562 × the critical path with Temporal in file") {
		t.Error(err)
	}
}
