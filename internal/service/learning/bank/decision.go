package bank

import (
	"cairn/internal/domain/run"
	"fmt"
)

// ID returns the ID of the decision of a span.
func ID(ref run.Ref, span int) string { return fmt.Sprintf("%s/%d", ref.Run, span) }
