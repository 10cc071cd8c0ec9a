// Package decision stores the choices of memory skills for spans. Judgements of replies become
// outcomes of the decisions behind their memories. Policies learn from outcomes; they also update
// the statistics of skills.
package decision

import (
	"fmt"
	"time"

	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// Decision is the choice of skills for one span, with the memories that the prompt of the span
// contains. It is stored before the model call, so that a retry uses the same choice.
type Decision struct {
	ID           string
	Run          string
	Conversation int64
	Span         int
	FromSeq      int
	ToSeq        int
	Bank         int64
	Version      int
	Canary       int // number of the update whose policy chose; 0 means the policy of the version
	Choice       Choice
	Outcome      *SpanOutcome // nil until the span is done
	CreatedAt    time.Time
}

// Choice is the data of a decision that is stored as JSON.
type Choice struct {
	policy.Decision
	Shown []string `json:"shown"` // memory IDs, in the order of their handles
}

// SpanOutcome is the result of a span.
type SpanOutcome struct {
	Outcome executor.Outcome          `json:"outcome"`
	Actions []executor.ResolvedAction `json:"actions,omitempty"`
	Note    string                    `json:"note,omitempty"`
}

// ID returns the ID of the decision of a span.
func ID(ref run.Ref, span int) string { return fmt.Sprintf("%s/%d", ref.Run, span) }

// Answered reports whether the model has processed the span.
func (d Decision) Answered() bool {
	return d.Outcome != nil && d.Outcome.Outcome != executor.LLMError
}
