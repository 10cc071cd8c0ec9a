package activities

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"cairn/internal/domain/contract"
)

// An activity in a mode with heartbeats sends them while its method runs, with or without a result.
func TestAStepThatTakesLongSendsHeartbeats(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(wait func(context.Context) error) any{
		"step": func(wait func(context.Context) error) any {
			return step(slow, func(ctx context.Context, _ contract.TaskRef) (contract.DraftResult, error) {
				return contract.DraftResult{}, wait(ctx)
			})
		},
		"effect": func(wait func(context.Context) error) any {
			return effect(slow, func(ctx context.Context, _ contract.TaskRef) error { return wait(ctx) })
		},
	} {
		received := make(chan struct{})
		e := environment(t)
		e.RegisterActivityWithOptions(build(func(ctx context.Context) error {
			select {
			case <-received:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}), activity.RegisterOptions{Name: contract.Judge})
		var once sync.Once
		e.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
			once.Do(func() { close(received) })
		})
		if _, err := e.ExecuteActivity(contract.Judge, contract.TaskRef{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAQuickStepSendsNoHeartbeats(t *testing.T) {
	t.Parallel()
	e := environment(t)
	e.RegisterActivityWithOptions(effect(quick, func(context.Context, contract.TaskRef) error {
		time.Sleep(3 * minHeartbeat)
		return nil
	}), activity.RegisterOptions{Name: contract.Judge})
	e.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { t.Error("heartbeat received") })
	if _, err := e.ExecuteActivity(contract.Judge, contract.TaskRef{}); err != nil {
		t.Error(err)
	}
}
