package store_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A demoted primary refuses writes. The caller is told to try again, and the pool does not keep the
// connections of the demoted server.
func TestAReadOnlyServerIsUnavailableAndItsConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, err := store.Open(t.Context(), b.url, store.Options{MaxConns: 1})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	write := func() error {
		return s.InWorkspace(t.Context(), b.a.ID, func(ctx context.Context, tx store.Tx) error {
			return tx.Workspaces().SetSettings(ctx, settings.Default())
		})
	}
	testkit.Must(t, write())
	var database string
	testkit.Must(t, b.admin.QueryRow(t.Context(), "select current_database()").Scan(&database))
	b.exec("alter database " + database + " set default_transaction_read_only = on")
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity " +
		"where datname = current_database() and application_name = 'cairn_app'")
	var demoted error
	for range 10 { // the first attempts may meet the ended connections
		if demoted = write(); demoted != nil && strings.Contains(demoted.Error(), "read-only") {
			break
		}
	}
	if fault.CodeOf(demoted) != fault.Unavailable || !strings.Contains(demoted.Error(), "read-only") {
		t.Fatalf("a write on a demoted server: %v", demoted)
	}
	b.exec("set default_transaction_read_only = off; " +
		"alter database " + database + " reset default_transaction_read_only")
	if err := write(); err != nil {
		t.Errorf("the write after the failover still uses the old connection: %v", err)
	}
}

func TestAValueThatTheDatabaseCannotStoreIsAnInvalidArgument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Store.Workspace(t.Context(), "nul\x00", true)
	if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(fault.From(err).Hint, "NUL") {
		t.Errorf("a name with NUL: %v", err)
	}
}
