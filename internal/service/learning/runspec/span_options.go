package runspec

import (
	"cmp"
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
)

// SpanOptions configures how spans are processed.
type SpanOptions struct {
	executor.Spanning
	K    int `json:"k"`     // skills per span
	TopN int `json:"top_n"` // memories in the prompt of a span
	// Draw is the seed of builds whose skills are drawn uniformly, as a baseline of evaluations. Empty
	// means that the policy chooses.
	Draw string `json:"draw,omitempty"`
}

// DefaultSpanOptions returns the published options for conversations.
func DefaultSpanOptions() SpanOptions {
	return SpanOptions{Spanning: executor.DefaultSpans(), K: 7, TopN: 20}
}

// WithDefaults sets missing options: skills as K, and the published values for conversations.
// Windows with a custom size do not overlap by default.
func (k SpanOptions) WithDefaults(skills int) SpanOptions {
	d := DefaultSpanOptions()
	if k.Tokens == 0 {
		k.Tokens, k.Overlap = d.Tokens, cmp.Or(k.Overlap, d.Overlap)
	}
	k.Mode, k.Pause, k.K, k.TopN = cmp.Or(k.Mode, d.Mode), cmp.Or(k.Pause, d.Pause), cmp.Or(k.K, skills),
		cmp.Or(k.TopN, d.TopN)
	return k
}

// Check returns an error if the options are invalid.
func (k SpanOptions) Check() error {
	if err := k.Spanning.Check(); err != nil {
		return err
	}
	if k.K < 1 || k.K > maxPerSpan || k.TopN < 1 || k.TopN > maxPerSpan {
		return fault.Newf(fault.InvalidArgument, "invalid span options: %d skills, %d memories; want 1 to %d of both",
			k.K, k.TopN, maxPerSpan)
	}
	return nil
}

const maxPerSpan = 10_000

// SpanMode returns how the workspace splits sessions into spans, or usual if it has no setting.
func SpanMode(ctx context.Context, tx Tx, usual string) (string, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	return cmp.Or(chosen.Memory.Spans, usual), err
}
