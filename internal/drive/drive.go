// Package drive starts the workflows that carry accepted runs. Starting is safe
// to repeat: the workflow id is the run's own, one that runs is left alone, and
// one that has finished finds in Postgres that there is nothing to do.
package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/distill"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/internal/run"
)

// Driver starts workflows through a Temporal client.
type Driver struct{ Client client.Client }

// Start makes sure that r's workflow runs, or has run.
func (d Driver) Start(ctx context.Context, workspaceKey, channel string, r run.Run) error {
	if r.Kind != run.Distill {
		return fmt.Errorf("start run %d: unknown kind %q", r.Ref.Run, r.Kind)
	}
	options := client.StartWorkflowOptions{
		ID: r.WorkflowID, TaskQueue: flow.QueueMain,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            fmt.Sprintf("distil a conversation · run %d", r.Ref.Run),
		StaticDetails:            fmt.Sprintf("`cairn runs show %d` tells what became of it. Texts are in Postgres, not here.", r.Ref.Run),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(flow.AttributeWorkspace).ValueSet(workspaceKey),
			temporal.NewSearchAttributeKeyKeyword(flow.AttributeKind).ValueSet(string(r.Kind)),
			temporal.NewSearchAttributeKeyKeyword(flow.AttributeChannel).ValueSet(channel),
			temporal.NewSearchAttributeKeyKeyword(flow.AttributeConversation).ValueSet(fmt.Sprint(r.Conversation))),
	}
	in := flow.DistillInput{WorkflowID: r.WorkflowID, FirstStep: firstStep(r),
		RunRef: flow.RunRef{Workspace: r.Ref.Workspace, WorkspaceKey: workspaceKey, Run: r.Ref.Run, Attempt: r.Attempt}}
	_, err := d.Client.ExecuteWorkflow(ctx, options, flow.Distill, in)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) { // it has run, and did not fail
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the workflow could not be started", "the run is stored and will be started when Temporal answers; `cairn doctor` tells what is missing")
	}
	return nil
}

// firstStep is the time that the run's configuration gives to a database step.
// The workflow learns the rest of it from its first step, which is one.
func firstStep(r run.Run) time.Duration {
	var spec struct {
		Timing distill.Timing `json:"timing"`
	}
	if json.Unmarshal(r.Spec, &spec) != nil {
		return 0 // the step itself will tell what is wrong with it
	}
	return spec.Timing.Database
}
