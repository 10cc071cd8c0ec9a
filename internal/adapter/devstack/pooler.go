package devstack

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// PoolerOptions configure a PgBouncer.
type PoolerOptions struct {
	Folder string // new folder for its configuration, in one that other accounts can enter
	Server string // host:port of PostgreSQL
	// Logins that clients may use, with their passwords for PostgreSQL. PgBouncer checks no passwords.
	Logins map[string]string
	Size   int // server connections for each login and database
	// Settings are further lines of the configuration, such as server_login_retry = 1.
	Settings []string
	Log      io.Writer // output of PgBouncer; nil discards it
}

// Pooler is a running PgBouncer in transaction mode, on a port of the loopback interface. It ends with
// this process. Its methods are not safe for concurrent use.
type Pooler struct {
	options PoolerOptions
	port    int
	running *guarded
}

// StartPooler starts a PgBouncer, which it installs if it is missing.
func StartPooler(ctx context.Context, o PoolerOptions) (*Pooler, error) {
	program, err := PgBouncer(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	who, err := postgresAccount(-1) // PgBouncer refuses to run as root, too
	if err != nil {
		return nil, err
	}
	if err := who.claimFolder(o.Folder); err != nil {
		return nil, err
	}
	p := &Pooler{options: o}
	if p.port, err = freePort(nil, 0); err != nil {
		return nil, err
	}
	if err := p.configure(); err != nil {
		return nil, err
	}
	// It is killed, because its gentle signals differ by version.
	if p.running, err = guard(command{name: "PgBouncer", args: []string{program, "--quiet", p.file("pgbouncer.ini")},
		env: []string{"PATH=/usr/bin:/bin"}, dir: o.Folder, account: who, gentle: "KILL", hard: "KILL",
		patience: orphanPatience, output: o.Log}); err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Pooler) file(name string) string { return filepath.Join(p.options.Folder, name) }

// configure writes the files of PgBouncer into the folder, which only its account can enter.
func (p *Pooler) configure() error {
	host, port, err := net.SplitHostPort(p.options.Server)
	if err != nil {
		return fmt.Errorf("address of PostgreSQL: %w", err)
	}
	var logins strings.Builder
	for _, login := range slices.Sorted(maps.Keys(p.options.Logins)) {
		fmt.Fprintf(&logins, "%q %q\n", login, p.options.Logins[login])
	}
	lines := append([]string{"[databases]", fmt.Sprintf("* = host=%s port=%s", host, port), "[pgbouncer]",
		"listen_addr = " + loopback, fmt.Sprintf("listen_port = %d", p.port), "unix_socket_dir =", "auth_type = trust",
		"auth_file = " + p.file("users.txt"), "pool_mode = transaction",
		fmt.Sprintf("default_pool_size = %d", p.options.Size), "max_client_conn = 500"}, p.options.Settings...)
	if err := replaceFile(p.file("users.txt"), []byte(logins.String()), 0o644); err != nil {
		return err
	}
	return replaceFile(p.file("pgbouncer.ini"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func (p *Pooler) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", p.Address())
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.running.exited:
			return fault.New(fault.Unavailable, "PgBouncer ended while it started", "see its log")
		case <-ctx.Done():
			return fault.Wrap(err, fault.Unavailable, "PgBouncer did not become ready", "see its log")
		case <-time.After(readyPoll):
		}
	}
}

// Address returns host:port.
func (p *Pooler) Address() string { return loopbackAddress(p.port) }

// URL returns the address of a database for a login.
func (p *Pooler) URL(login, database string) string {
	return loopbackURL(p.port, login, database)
}

// Point makes PgBouncer use another server. Connections to the former one are closed when their
// transactions end.
func (p *Pooler) Point(server string) error {
	p.options.Server = server
	if err := p.configure(); err != nil {
		return err
	}
	return p.running.signal("HUP")
}

// Close stops PgBouncer. Its folder remains.
func (p *Pooler) Close() { p.running.stop() }
