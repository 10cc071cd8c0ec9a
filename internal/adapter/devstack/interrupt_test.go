package devstack

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/testkit"
)

// A caller that cancels its request must not affect other callers. With the SQLite of the Temporal
// command's own go.mod, a second of this left the server returning "Error interrupted (9)" until it
// was restarted.
func TestTheTemporalServerOutlivesRequestsThatAreGivenUp(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	if found, _ := localTemporal(t.Context()); found.fragile() != "" {
		t.Skip(found.path + ": " + found.fragile())
	}
	stack := start(t, Options{SkipPostgres: true})
	temporal, _, err := dialTemporal(t.Context(),
		client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.TemporalNamespace(), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	service := temporal.WorkflowService()

	// Few callers, so that a request is canceled while it is reading the state and not while it is
	// queued.
	const callers, requests, longest = 4, 1200, 2 * time.Millisecond
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range requests {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(longest))
				_, _ = service.ListNamespaces(ctx, &workflowservice.ListNamespacesRequest{})
				cancel()
			}
		})
	}
	all.Wait()

	for range 50 { // it sometimes still answers from memory
		_, err := service.DescribeNamespace(t.Context(),
			&workflowservice.DescribeNamespaceRequest{Namespace: stack.TemporalNamespace()})
		if err != nil && strings.Contains(err.Error(), "interrupted") {
			t.Fatal(err)
		}
	}
}

func TestATemporalProgramTellsItsSQLite(t *testing.T) {
	t.Parallel()
	if folder, ok := cached(temporalName); ok {
		if release := sqliteOf(filepath.Join(folder, "temporal")); release != sqliteRelease {
			t.Errorf("what was built has SQLite %q, want %s", release, sqliteRelease)
		}
	}
	for release, fragile := range map[string]bool{"v1.34.1": true, "v1.50.9": true, sqliteSound: false,
		sqliteRelease: false, "v1.61.1": false, "": false} {
		if said := (temporalCommand{sqlite: release}).fragile(); (said != "") != fragile {
			t.Errorf("SQLite %q: %q", release, said)
		}
	}
}
