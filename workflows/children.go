package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// independentChild returns the options of a child that outlives its parent and runs once. A
// restarted parent finds it by its ID.
func independentChild(id, summary string, attributes temporal.SearchAttributes) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowTaskTimeout:   contract.TaskTimeout,
		StaticSummary:         summary,
		TypedSearchAttributes: attributes,
	}
}

// inherited returns the parent's search attributes that a child inherits: Cairn's own, without
// those of Temporal.
func inherited(ctx workflow.Context) temporal.SearchAttributes {
	all := workflow.GetTypedSearchAttributes(ctx)
	var own []temporal.SearchAttributeUpdate
	for _, name := range contract.Attributes() {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		if value, ok := all.GetKeyword(key); ok {
			own = append(own, key.ValueSet(value))
		}
	}
	return temporal.NewSearchAttributes(own...)
}

// attributes returns the inherited search attributes with another kind.
func attributes(ctx workflow.Context, kind string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		inherited(ctx).Copy(), temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet(kind))
}
