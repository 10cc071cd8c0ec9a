package devtest

import (
	"context"
	"os"
	"sync"
	"testing"

	"cairn/internal/adapter/devstack"
	"cairn/internal/lab/devtest/testrun"
)

var pooler = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patience)
	defer cancel()
	return devstack.PgBouncer(ctx, os.Stderr)
})

// PgBouncer returns the path of a PgBouncer. It fails the test if there is none and none can be
// installed.
func PgBouncer(t testing.TB) string {
	t.Helper()
	program, err := pooler()
	if err != nil {
		t.Fatalf("find PgBouncer: %v", err)
	}
	return program
}
