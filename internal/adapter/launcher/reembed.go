package launcher

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

// Reembed starts a re-embedding unless it is running. One that has ended can be started again.
func (d Driver) Reembed(ctx context.Context, in contract.ReembedInput) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	in.Heartbeat = d.Heartbeat
	o := options(in.WorkspaceKey, "", "reembed", contract.ReembedID(in.WorkspaceKey, in.Space), 0,
		fmt.Sprintf("re-embed · space %d", in.Space))
	o.StaticDetails = "See `cairn reembed status` for the progress. Texts are in Postgres, not here."
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	if _, err := d.Client.ExecuteWorkflow(ctx, o, contract.Reembed, in); err != nil {
		return fault.Wrap(err, fault.Unavailable, "start the re-embedding",
			"repeat the command when Temporal is available; run `cairn doctor` to check the servers")
	}
	return nil
}

// SteerReembed pauses, resumes or cancels a running re-embedding. It returns false if none is
// running.
func (d Driver) SteerReembed(ctx context.Context, workflowID, action string) (bool, error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	var err error
	if action == contract.CancelReembed {
		err = d.Client.CancelWorkflow(ctx, workflowID, "")
	} else {
		err = d.Client.SignalWorkflow(ctx, workflowID, "", contract.SignalReembed, action)
	}
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, action+" the re-embedding",
			"repeat the command when Temporal is available; run `cairn doctor` to check the servers")
	}
	return true, nil
}
