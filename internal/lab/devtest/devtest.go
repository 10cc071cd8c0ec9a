package devtest

import (
	"context"
	"sync"
	"testing"

	"cairn/internal/lab/devtest/testrun"
)

// Servers are the addresses of the shared servers. Tests get their own database from Database.
type Servers = testrun.Servers

var shared = sync.OnceValues(func() (*Servers, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patience)
	defer cancel()
	return attach(ctx, testrun.This())
})

// Stack returns the shared throw-away servers of this `go test` run. The first call starts them.
func Stack(t testing.TB) *Servers {
	t.Helper()
	servers, err := shared()
	if err != nil {
		t.Fatalf("start the test servers: %v", err)
	}
	return servers
}
