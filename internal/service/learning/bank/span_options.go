package bank

import (
	"cmp"
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/store"
)

// SpanOptions configures how spans are processed.
type SpanOptions struct {
	executor.Spanning
	K    int `json:"k"`     // skills per span; 0 means the setting of the workspace
	TopN int `json:"top_n"` // memories in the prompt of a span
	// Draw is the seed of builds whose skills are drawn uniformly, as a baseline of evaluations. Empty
	// means that the policy chooses.
	Draw string `json:"draw,omitempty"`
}

// DefaultSpanOptions returns the published options for conversations, with the K of the workspace.
func DefaultSpanOptions() SpanOptions {
	return SpanOptions{Spanning: executor.DefaultSpans(), TopN: 20}
}

// WithDefaults sets missing options to the published values for conversations; see Complete for K.
// Windows with a custom size do not overlap by default.
func (k SpanOptions) WithDefaults() SpanOptions {
	d := DefaultSpanOptions()
	if k.Tokens == 0 {
		k.Tokens, k.Overlap = d.Tokens, cmp.Or(k.Overlap, d.Overlap)
	}
	k.Mode, k.Pause, k.TopN = cmp.Or(k.Mode, d.Mode), cmp.Or(k.Pause, d.Pause), cmp.Or(k.TopN, d.TopN)
	return k
}

// Check returns an error if the options are invalid.
func (k SpanOptions) Check() error {
	if err := k.Spanning.Check(); err != nil {
		return err
	}
	if k.K < 0 || k.K > maxPerSpan || k.TopN < 1 || k.TopN > maxPerSpan {
		return fault.Newf(fault.InvalidArgument, "invalid span options: %d skills, %d memories; want 1 to %d of both",
			k.K, k.TopN, maxPerSpan)
	}
	return nil
}

const maxPerSpan = 10_000

// Complete sets what a request leaves to the settings of the workspace: the number of skills per
// span, and, unless ownMode is set, how sessions are split.
func Complete(ctx context.Context, tx store.Tx, o *SpanOptions, ownMode bool) error {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return err
	}
	if !ownMode {
		o.Mode = cmp.Or(chosen.Memory.Spans, o.Mode)
	}
	o.K = cmp.Or(o.K, chosen.Memory.Skills.K)
	return nil
}
