package activities_test

import (
	"context"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"cairn/activities"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
)

// slowService runs until its heartbeat was received.
type slowService struct {
	distillService
	heard chan struct{}
}

func (s *slowService) Judge(ctx context.Context, _ run.Ref, _ string) error {
	select {
	case <-s.heard:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAStepThatTakesLongTellsThatItLives(t *testing.T) {
	t.Parallel()
	service := &slowService{heard: make(chan struct{})}
	e := environment(t)
	e.RegisterActivityWithOptions(activities.Distill{Service: service}.Judge,
		activity.RegisterOptions{Name: contract.Judge})
	var once sync.Once
	e.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		once.Do(func() { close(service.heard) })
	})
	if _, err := e.ExecuteActivity(contract.Judge, contract.TaskRef{RunRef: runRef}); err != nil {
		t.Error(err)
	}
}
