package objectstore

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

// No network call is made while a transaction is open.
func TestNothingIsStoredInsideATransaction(t *testing.T) {
	t.Parallel()
	ctx := txscope.Enter(t.Context())
	local, _ := setup(t)
	bucket, _ := setupOSS(t, nil)
	for _, s := range []Store{local, bucket} {
		if err := s.Put(ctx, "a", nil); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v, want %s", err, fault.Internal)
		}
		if _, err := s.Get(ctx, "a"); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v, want %s", err, fault.Internal)
		}
		if _, err := s.Exists(ctx, "a"); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v, want %s", err, fault.Internal)
		}
		if err := s.Delete(ctx, "a"); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v, want %s", err, fault.Internal)
		}
	}
}
