package launcher

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
)

// No network call is made while a transaction is open.
func TestNothingIsStartedInsideATransaction(t *testing.T) {
	t.Parallel()
	ctx := txscope.Enter(t.Context())
	if err := (Driver{}).Start(ctx, "w", "chat", run.Run{}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v, want %s", err, fault.Internal)
	}
	if err := (Driver{}).CancelTurn(ctx, "w", run.Run{}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v, want %s", err, fault.Internal)
	}
}
