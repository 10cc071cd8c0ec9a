package launcher

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/agentrun"
)

// Reflect starts the reflection on a local date. It returns false if that date has or had one.
func (d Driver) Reflect(ctx context.Context, in contract.ReflectionInput) (bool, error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	o := options(in.Workspace, "", "reflection", contract.ReflectionID(in.Workspace, in.Date), 0,
		"reflect on "+in.Date+" · "+in.Why)
	return d.once(ctx, o, contract.ReflectionWorkflow, in)
}

// Curate starts a curation. It returns false if the firing has or had one.
func (d Driver) Curate(ctx context.Context, slot string, in contract.CurateInput) (bool, error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	return d.once(ctx, options(in.WorkspaceKey, "", "curate", contract.CurateID(in.WorkspaceKey, slot), 0,
		"curate skills"), contract.Curate, in)
}

// once starts a workflow whose ID must never have been used.
func (d Driver) once(ctx context.Context, o client.StartWorkflowOptions, workflow string, in any) (bool, error) {
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := d.Client.ExecuteWorkflow(ctx, o, workflow, in)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return false, nil
	}
	if err != nil {
		return false, unavailable(err)
	}
	return true, nil
}

// Bring delivers a turn to its conversation without waiting for the reply.
func (d Driver) Bring(ctx context.Context, workspaceKey string, r run.Run) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resumePatience)
	defer cancel()
	if _, err = d.offer(ctx, workspaceKey, r, spec, client.WorkflowUpdateStageAccepted); err != nil {
		return fmt.Errorf("deliver the turn to its conversation: %w", deliveryError(ctx, err))
	}
	return nil
}
