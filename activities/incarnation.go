package activities

import (
	"context"
	"errors"
	"log/slog"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"cairn/internal/domain/run"
)

// Incarnations is a worker interceptor. It runs each activity in the incarnation of its workflow, so
// that the database refuses workflows that started before a restore from a backup. It counts and
// logs activities whose run the database has lost.
type Incarnations struct {
	interceptor.WorkerInterceptorBase
	CountLost func(context.Context) error
	Log       *slog.Logger
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (i *Incarnations) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	inbound := &incarnationInbound{all: i}
	inbound.Next = next
	return inbound
}

type incarnationInbound struct {
	interceptor.ActivityInboundInterceptorBase
	all *Incarnations
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *incarnationInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	out, err := i.Next.ExecuteActivity(
		run.EnterIncarnation(ctx, run.IncarnationOfWorkflow(info.WorkflowExecution.ID)), in)
	if errors.Is(err, run.ErrLost) {
		i.all.Log.Error("run lost in a restore of the database; stop gateways and workers, run `cairn restore accept` "+
			"and start them again", "workflow", info.WorkflowExecution.ID, "activity", info.ActivityType.Name,
			"error", err)
		if counted := i.all.CountLost(context.WithoutCancel(ctx)); counted != nil {
			i.all.Log.Warn("lost run not counted", "error", counted)
		}
	}
	return out, err
}
