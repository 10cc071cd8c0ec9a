package fetch

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

// No network call is made while a transaction is open.
func TestNothingIsFetchedInsideATransaction(t *testing.T) {
	t.Parallel()
	ctx := txscope.Enter(t.Context())
	if _, err := Get(ctx, "https://example.org/a.zip", Options{}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v, want %s", err, fault.Internal)
	}
}
