package longterm

import (
	"context"

	"cairn/internal/domain/memory"
)

// LookupRepository finds entries by what they say or belong to.
type LookupRepository interface {
	Saying(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error)
	Sayings(ctx context.Context, in []memory.Statement) ([]memory.Entry, error)
	GuidelineOf(ctx context.Context, tool string) (memory.Entry, bool, error)
	Guidelines(ctx context.Context, tools []string) ([]memory.Entry, error)
	// DigestOf finds the summary of a session. Without a session, it finds the summary with the
	// content.
	DigestOf(ctx context.Context, history, content string) (memory.Entry, bool, error)
	// CountWhere counts the entries that a filter selects.
	CountWhere(ctx context.Context, in memory.Filter) (int, error)
	// OfScope reads the active entries of a scope in the order of creation.
	OfScope(ctx context.Context, s memory.Scope, most int) ([]memory.Entry, error)
}
