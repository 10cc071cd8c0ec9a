package distillbench

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
	good, bad := at(InMemory, 900*time.Millisecond), at(InFile, time.Second)
	if err := Missed([]Measurement{good}); err != nil {
		t.Error(err)
	}
	if err := Missed([]Measurement{good, bad}); err == nil ||
		!strings.Contains(err.Error(), "1.250 × the critical path with Temporal in file") {
		t.Error(err)
	}
}
