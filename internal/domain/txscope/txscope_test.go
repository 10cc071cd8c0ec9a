package txscope_test

import (
	"context"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

func TestRejectRefusesInsideATransactionOnly(t *testing.T) {
	t.Parallel()
	if err := txscope.Reject(t.Context()); err != nil {
		t.Errorf("outside: %v", err)
	}
	inside, cancel := context.WithCancel(txscope.Enter(t.Context()))
	defer cancel()
	if err := txscope.Reject(inside); fault.CodeOf(err) != fault.Internal {
		t.Errorf("inside: %v", err)
	}
}
