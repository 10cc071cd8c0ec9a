package openai

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/txscope"
)

// No network call is made while a transaction is open.
func TestNothingIsSentInsideATransaction(t *testing.T) {
	t.Parallel()
	ctx := txscope.Enter(t.Context())
	if _, err := New(Config{}).Send(ctx, llm.PreparedRequest{Body: []byte("{}")}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v, want %s", err, fault.Internal)
	}
}
