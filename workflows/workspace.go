package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// named are the kinds of workflows whose ids name their workspace right after the kind.
var named = []string{"conversation", "turn", "nudge"}

// inWorkspace refuses an execution whose id names another workspace than its input:
// nobody of ours has started it.
func inWorkspace(ctx workflow.Context, key string) error {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	kind, rest, _ := strings.Cut(id, "/")
	if key == "" || !slices.Contains(named, kind) || strings.HasPrefix(rest, key+"/") {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("the input is of workspace %s, and the id is %s", key, id), "out_of_scope", nil)
}
