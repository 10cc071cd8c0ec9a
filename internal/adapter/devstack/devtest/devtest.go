package devtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/devstack"
)

// Addresses are where the shared servers answer. DatabaseURL is the superuser's
// connection to a maintenance database; tests take their own from Database.
type Addresses = devstack.Addresses

// SearchAttributes are what the shared Temporal server knows, name to type.
var SearchAttributes = map[string]string{
	"CairnWorkspace": "Keyword", "CairnKind": "Keyword", "CairnChannel": "Keyword", "CairnConversation": "Keyword",
}

// startPatience includes the first build of the Temporal server.
const startPatience = 8 * time.Minute

var shared = sync.OnceValues(func() (*Addresses, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	return attach(ctx, thisRun())
})

// Stack gives the shared throw-away stack of this `go test` run, starting it
// when this is the first test that asks.
func Stack(t testing.TB) *Addresses {
	t.Helper()
	addresses, err := shared()
	if err != nil {
		t.Fatalf("start the test servers: %v", err)
	}
	return addresses
}
