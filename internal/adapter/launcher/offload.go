package launcher

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/offload"
)

// offload starts the workflow that compacts a thread.
func (d Driver) offload(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	in, err := offload.Input(workspaceKey, r)
	if err != nil {
		return false, err
	}
	o := options(workspaceKey, channel, string(r.Kind), r.WorkflowID, r.Conversation,
		fmt.Sprintf("%s · run %s", r.Kind, r.Ref.Run))
	o.StaticDetails = fmt.Sprintf("See `cairn runs show %s` for the result. Texts are in Postgres, not here.",
		r.Ref.Run)
	return d.begin(ctx, o, contract.Offload, in)
}
