// Package decision keeps the choices of memory skills for spans, and what is said of
// the answers that were given from the memories behind them: outcomes, from which a
// policy may learn, and the statistics of the skills.
package decision

import (
	"fmt"
	"time"

	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// Decision is the choice of skills for one span, with what the span was shown.
// It is kept before the model is asked, so that whoever takes the span up again
// goes on with the same choice.
type Decision struct {
	ID           string
	Run          int64
	Conversation int64
	Span         int
	FromSeq      int
	ToSeq        int
	Bank         int64
	Version      int
	Canary       int // number of the update whose policy chose; 0 is that of the version
	Choice       Choice
	Outcome      *SpanOutcome // nil until the span is done
	CreatedAt    time.Time
}

// Choice is what a decision keeps beside the rows that it points to.
type Choice struct {
	policy.Decision
	Shown []string `json:"shown"` // ids of memories, in the order of their handles
}

// SpanOutcome is what became of a span.
type SpanOutcome struct {
	Outcome executor.Outcome          `json:"outcome"`
	Actions []executor.ResolvedAction `json:"actions,omitempty"`
	Note    string                    `json:"note,omitempty"`
}

// ID names the decision of a span.
func ID(ref run.Ref, span int) string { return fmt.Sprintf("%d/%d", ref.Run, span) }

// Answered reports whether a model has gone through the span.
func (d Decision) Answered() bool {
	return d.Outcome != nil && d.Outcome.Outcome != executor.LLMError
}
