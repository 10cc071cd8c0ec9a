package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// named are the kinds of workflows whose IDs contain their workspace after the kind.
var named = []string{"conversation", "turn", "nudge"}

// inWorkspace rejects an execution whose ID names another workspace than its input. Cairn starts no
// such execution.
func inWorkspace(ctx workflow.Context, key string) error {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	kind, rest, _ := strings.Cut(id, "/")
	if key == "" || !slices.Contains(named, kind) || strings.HasPrefix(rest, key+"/") {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("input is of workspace %s, but the workflow ID is %s", key, id), "out_of_scope", nil)
}
