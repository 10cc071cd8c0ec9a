package launcher

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/txscope"
)

// Deliver makes the workflow of a route send what is open. It may be repeated.
func (d Driver) Deliver(ctx context.Context, workspaceKey string, ws, route int64, account string) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	o := options(workspaceKey, "", "deliver", contract.DeliverID(workspaceKey, route), 0,
		fmt.Sprintf("deliver to %s · route %d", account, route))
	o.StaticDetails = "See `cairn deliveries list` for what is open. Texts are in Postgres, not here."
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	in := contract.DeliverInput{Workspace: ws, WorkspaceKey: workspaceKey, Route: route, Account: account}
	_, err := d.Client.SignalWithStartWorkflow(ctx, o.ID, contract.SignalDeliver, nil, o, contract.Deliver, in)
	return deliveryError(ctx, err)
}
