package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// setDetails says what the workflow is about to do, for Temporal UI. No line holds a
// word of anybody's text.
func setDetails(ctx workflow.Context, format string, args ...any) {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf(format, args...))
}
