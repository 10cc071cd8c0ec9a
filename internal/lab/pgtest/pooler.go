package pgtest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/adapter/devstack"
	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// Pooler starts PgBouncer in transaction mode before the database at databaseURL, and returns the URL
// that uses it. If PgBouncer is not installed, it is unpacked from Debian's packages into the cache.
func Pooler(t testing.TB, databaseURL string) string {
	t.Helper()
	devtest.PgBouncer(t)                                // installs it, and reports why it cannot
	_, overTCP := testkit.DatabaseProxy(t, databaseURL) // only the server's account can use its socket
	address, err := url.Parse(overTCP)
	testkit.Must(t, err)
	login := address.User.Username()
	password, _ := address.User.Password()
	folder := t.TempDir()
	for at := folder; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		testkit.Must(t, os.Chmod(at, 0o755)) // for the account that runs PgBouncer for root
	}
	// Two connections for all clients, so that every transaction changes its connection.
	p, err := devstack.StartPooler(t.Context(), devstack.PoolerOptions{Folder: filepath.Join(folder, "pooler"),
		Server: address.Host, Logins: map[string]string{login: password}, Size: 2, Log: t.Output()})
	testkit.Must(t, err)
	t.Cleanup(p.Close)
	return p.URL(login, strings.TrimPrefix(address.Path, "/"))
}
