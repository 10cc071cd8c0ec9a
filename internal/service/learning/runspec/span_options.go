package runspec

import (
	"cmp"
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
)

// SpanOptions says how spans are remembered.
type SpanOptions struct {
	executor.Spanning
	K    int `json:"k"`     // skills chosen for a span
	TopN int `json:"top_n"` // memories that it is shown
}

// DefaultSpanOptions is what was published for conversations.
func DefaultSpanOptions() SpanOptions {
	return SpanOptions{Spanning: executor.DefaultSpans(), K: 7, TopN: 20}
}

// WithDefaults fills what is open: k skills for a span, and the rest as it was published
// for conversations. Windows with a size of their own share nothing unless it says so.
func (k SpanOptions) WithDefaults(skills int) SpanOptions {
	d := DefaultSpanOptions()
	if k.Tokens == 0 {
		k.Tokens, k.Overlap = d.Tokens, cmp.Or(k.Overlap, d.Overlap)
	}
	k.Mode, k.Pause, k.K, k.TopN = cmp.Or(k.Mode, d.Mode), cmp.Or(k.Pause, d.Pause), cmp.Or(k.K, skills),
		cmp.Or(k.TopN, d.TopN)
	return k
}

// Check refuses what nothing can be remembered by.
func (k SpanOptions) Check() error {
	if err := k.Spanning.Check(); err != nil {
		return err
	}
	if k.K < 1 || k.K > maxPerSpan || k.TopN < 1 || k.TopN > maxPerSpan {
		return fault.Newf(fault.InvalidArgument, "%d skills for a span that is shown %d memories; both are 1 to %d",
			k.K, k.TopN, maxPerSpan)
	}
	return nil
}

const maxPerSpan = 10_000

// SpanMode is how the workspace wants its sessions cut; usual where it has not said.
func SpanMode(ctx context.Context, tx Tx, usual string) (string, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	return cmp.Or(chosen.Memory.Spans, usual), err
}
