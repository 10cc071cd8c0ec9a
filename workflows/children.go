package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// independentChild is a child that outlives its parent and runs to its end once: a
// parent that is started again finds it under its id.
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

// inherited are the search attributes that a child has of its parent: Cairn's own.
// Those of Temporal are the parent's alone.
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

// attributes are inherited, but for the kind.
func attributes(ctx workflow.Context, kind string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		inherited(ctx).Copy(), temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet(kind))
}
