package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// setDetails sets the current details of the workflow in Temporal UI. They never contain user text.
func setDetails(ctx workflow.Context, format string, args ...any) {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf(format, args...))
}
