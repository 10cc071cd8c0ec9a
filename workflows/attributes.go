package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// inherited are the search attributes that a child has of its parent: Cairn's own.
// Those of Temporal, such as which versions a workflow knows, are the parent's alone.
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
	return temporal.NewSearchAttributes(inherited(ctx).Copy(), temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet(kind))
}
