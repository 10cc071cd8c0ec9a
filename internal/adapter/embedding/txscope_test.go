package embedding_test

import (
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

// No network call is made while a transaction is open.
func TestNothingIsEmbeddedInsideATransaction(t *testing.T) {
	t.Parallel()
	ctx := txscope.Enter(t.Context())
	for _, e := range []embedding.Embedder{embedding.Hashing(8), embedding.New(embedding.Config{Model: "m", Dims: 8})} {
		if _, err := e.Embed(ctx, []string{"a"}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v, want %s", err, fault.Internal)
		}
	}
}
