package pgtest

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/devstack"
	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/testkit"
)

// Pooler starts PgBouncer in transaction mode before the database at databaseURL, and returns the URL
// that uses it. If PgBouncer is not installed, it is unpacked from Debian's packages into the cache.
func Pooler(t testing.TB, databaseURL string) string {
	t.Helper()
	devtest.PgBouncer(t)                                // installs it, and reports why it cannot
	_, overTCP := testkit.DatabaseProxy(t, databaseURL) // only the server's account can use its socket
	server, err := pgx.ParseConfig(overTCP)
	testkit.Must(t, err)
	address, err := url.Parse(overTCP)
	testkit.Must(t, err)
	folder := t.TempDir()
	for at := folder; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		testkit.Must(t, os.Chmod(at, 0o755)) // for the account that runs PgBouncer for root
	}
	// Two connections for all clients, so that every transaction changes its connection.
	p, err := devstack.StartPooler(t.Context(), devstack.PoolerOptions{Folder: filepath.Join(folder, "pooler"),
		Server: address.Host, Logins: map[string]string{server.User: server.Password}, Size: 2,
		Settings: []string{"ignore_startup_parameters = extra_float_digits"}, Log: t.Output()})
	testkit.Must(t, err)
	t.Cleanup(p.Close)
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(server.User, server.Password), Host: p.Address(),
		Path: "/" + server.Database, RawQuery: "sslmode=disable"}).String()
}
