// Package decision stores the choices of memory skills for spans. Judgements of replies become
// outcomes of the decisions behind their memories. Policies learn from outcomes; they also update
// the statistics of skills.

package bank

import (
	"cairn/internal/domain/run"
	"fmt"
)

// ID returns the ID of the decision of a span.
func ID(ref run.Ref, span int) string { return fmt.Sprintf("%s/%d", ref.Run, span) }
