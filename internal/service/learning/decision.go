package learning

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
	Outcome executor.Outcome    `json:"outcome"`
	Actions []executor.Resolved `json:"actions,omitempty"`
	Note    string              `json:"note,omitempty"`
}

// DecisionID names the decision of a span.
func DecisionID(ref run.Ref, span int) string { return fmt.Sprintf("%d/%d", ref.Run, span) }

// handles lead from short names to the memories that were shown.
func handles(shown []string) map[string]string {
	out := map[string]string{}
	for i, id := range shown {
		out[fmt.Sprintf("%s%d", executor.HandlePrefix, i)] = id
	}
	return out
}
