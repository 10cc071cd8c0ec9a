package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/testkit"
)

// Pooler starts PgBouncer in transaction mode before the database at databaseURL, and returns the URL
// that uses it. If PgBouncer is not installed, it is unpacked from Debian's packages into the cache.
func Pooler(t testing.TB, databaseURL string) string {
	t.Helper()
	program := devtest.PgBouncer(t)
	_, overTCP := testkit.DatabaseProxy(t, databaseURL) // only the server's account can use its socket
	server, err := pgx.ParseConfig(overTCP)
	testkit.Must(t, err)
	folder := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	testkit.Must(t, l.Close())
	users := filepath.Join(folder, "users.txt")
	testkit.Must(t, os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", server.User, server.Password), 0o644))
	// Two connections for all clients, so that every transaction changes its connection.
	file := filepath.Join(folder, "pgbouncer.ini")
	testkit.Must(t, os.WriteFile(file, fmt.Appendf(nil, `[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
server_reset_query =
ignore_startup_parameters = extra_float_digits
`, server.Host, server.Port, port, users), 0o644))
	cmd := exec.Command(program, "--quiet", file)
	if os.Geteuid() == 0 { // PgBouncer refuses to run as root
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(t)}
		for at := folder; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
			testkit.Must(t, os.Chmod(at, 0o755))
		}
	}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	testkit.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	testkit.Eventually(t, "PgBouncer accepts connections", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(server.User, server.Password), Host: address,
		Path: "/" + server.Database, RawQuery: "sslmode=disable"}).String()
}

func nobody(t testing.TB) *syscall.Credential {
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("the account nobody does not exist")
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	testkit.Must(t, err)
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	testkit.Must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
