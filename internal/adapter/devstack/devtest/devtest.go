package devtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/devstack"
)

// Addresses are the addresses of the shared servers. DatabaseURL is the superuser's connection to a
// maintenance database; tests get their own database from Database.
type Addresses = devstack.Addresses

// SearchAttributes are the search attributes of the shared Temporal server, name to type.
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

// Stack returns the shared throw-away stack of this `go test` run. The first call starts it.
func Stack(t testing.TB) *Addresses {
	t.Helper()
	addresses, err := shared()
	if err != nil {
		t.Fatalf("start the test servers: %v", err)
	}
	return addresses
}
