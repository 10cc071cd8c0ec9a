package launcher

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/reflection"
)

// reflection starts a reflection's workflow unless it is running or has completed.
func (d Driver) reflection(ctx context.Context, workspaceKey string, r run.Run) (closed bool, err error) {
	in, err := reflection.Input(r)
	if err != nil {
		return false, err
	}
	o := options(workspaceKey, "scheduled", string(r.Kind), r.WorkflowID, 0, "reflection of "+in.Date)
	o.StaticDetails = fmt.Sprintf("See `cairn reflect status --date %s` for the result. Texts are in Postgres, "+
		"not here.", in.Date)
	return d.begin(ctx, o, contract.ReflectionWorkflow, in)
}
