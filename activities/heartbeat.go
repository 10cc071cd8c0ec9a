package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// minHeartbeat is the minimum time between two heartbeats.
const minHeartbeat = 100 * time.Millisecond

// heartbeat sends heartbeats until the returned function is called. The SDK throttles them, so that
// the server receives a fraction of them.
func heartbeat(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	every := max(activity.GetInfo(ctx).HeartbeatTimeout/4, minHeartbeat)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return cancel
}
