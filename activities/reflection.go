package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/reflection"
)

// Reflect are the activities of reflections. Their steps are those of AgentRuns.
type Reflect struct {
	Open    func(ctx context.Context, in contract.ReflectionInput, workflowID string) (reflection.OpenResult, error)
	Distill func(ctx context.Context, ref run.Ref, workspaceKey string) (contract.DistillDayResult, error)
}

// RegisterMain registers the database steps with w.
func (a Reflect) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.OpenReflection, a.OpenReflection)
	register(w, contract.DistillDay, a.DistillDay)
}

// OpenReflection creates the run of a date's reflection with the conversations to read.
func (a Reflect) OpenReflection(
	ctx context.Context, in contract.ReflectionInput,
) (contract.OpenReflectionResult, error) {
	r, err := a.Open(ctx, in, activity.GetInfo(ctx).WorkflowExecution.ID)
	of := contract.RunRef{
		Workspace: r.Run.Workspace, WorkspaceKey: in.Workspace, Run: r.Run.Ref.Run, Attempt: r.Run.Attempt,
	}
	return contract.OpenReflectionResult{
		RunRef: of, Budget: r.Spec.Budget, Timeouts: r.Spec.Timeouts(), Ended: encoded(r.Ended, agentResult),
	}, temporalError(err)
}

// DistillDay creates the distillations for the day's conversations.
func (a Reflect) DistillDay(ctx context.Context, in contract.RunRef) (contract.DistillDayResult, error) {
	out, err := a.Distill(ctx, ref(in), in.WorkspaceKey)
	return out, temporalError(err)
}
