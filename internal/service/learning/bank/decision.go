package bank

import (
	"fmt"

	"cairn/internal/domain/run"
)

// DecisionID returns the ID of the decision of a span.
func DecisionID(ref run.Ref, span int) string { return fmt.Sprintf("%s/%d", ref.Run, span) }
