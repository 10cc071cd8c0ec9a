package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/reflection"
)

// Reflect are the activities of reflections. Their steps are those of AgentRuns.
type Reflect struct {
	Reflections *reflection.Requests
	Idle        *memoryagent.IdleReader
}

// RegisterMain registers the database steps with w.
func (a Reflect) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.OpenReflection: step(quick, a.open),
		contract.DistillDay:     step(quick, a.Idle.ReadDay),
	}.register(w)
}

// open passes the ID of the workflow, which the run gets.
func (a Reflect) open(ctx context.Context, in contract.ReflectionInput) (contract.OpenReflectionResult, error) {
	return a.Reflections.Open(ctx, in, activity.GetInfo(ctx).WorkflowExecution.ID)
}
