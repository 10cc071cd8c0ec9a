// Package activities registers the Temporal activities. An activity is a service method that takes
// and returns types of package contract. This package adds heartbeats, and converts errors for
// Temporal. Every activity is idempotent.
//
//	table{contract.Segment: step(slow, s.Segment), contract.Judge: effect(slow, s.Judge)}.register(w)
package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// table maps names of activities to their functions, which step and effect return.
type table map[string]any

func (t table) register(w worker.ActivityRegistry) {
	for name, fn := range t {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// mode describes how an activity runs.
type mode struct {
	beats bool              // sends heartbeats
	fails func(error) error // converts errors for Temporal
}

var (
	quick  = mode{fails: temporalError}              // takes milliseconds
	slow   = mode{beats: true, fails: temporalError} // calls a model, computes or waits
	queued = mode{fails: queueError}                 // waits for a free resource
	sends  = mode{fails: sendError}                  // calls a chat platform
)

// step returns the activity that runs a service method with a result.
func step[I, R any](m mode, method func(context.Context, I) (R, error)) func(context.Context, I) (R, error) {
	return func(ctx context.Context, in I) (R, error) {
		if m.beats {
			defer heartbeat(ctx)()
		}
		out, err := method(ctx, in)
		return out, m.fails(err)
	}
}

// effect returns the activity that runs a service method without a result.
func effect[I any](m mode, method func(context.Context, I) error) func(context.Context, I) error {
	return func(ctx context.Context, in I) error {
		if m.beats {
			defer heartbeat(ctx)()
		}
		return m.fails(method(ctx, in))
	}
}
