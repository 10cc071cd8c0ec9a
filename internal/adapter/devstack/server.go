package devstack

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
)

// ServerOptions configure a PostgreSQL server that an experiment controls.
type ServerOptions struct {
	// Folder is a new folder of the server, in one that other accounts can enter.
	Folder string
	// Settings are added to those of a development stack, such as archive_mode=on.
	Settings []string
	// Copy is a server to follow: the new one begins as a copy of it and is its replica, until Promote.
	Copy *PostgresServer
}

// PostgresServer is a PostgreSQL with a port on the loopback interface. Its superuser postgres, and all
// other logins, need no password. It ends with this process. Its methods are not safe for concurrent
// use.
type PostgresServer struct {
	cluster *cluster
	port    int
}

// StartServer starts a PostgreSQL server of the version that development stacks use. It ignores
// DATABASE_URL.
func StartServer(ctx context.Context, o ServerOptions) (*PostgresServer, error) {
	who, err := postgresAccount(-1)
	if err != nil {
		return nil, err
	}
	installed, err := findServer(ctx, who, 0, newJournal(nil))
	if err != nil {
		return nil, err
	}
	if err := who.claimFolder(o.Folder); err != nil {
		return nil, err
	}
	s := &PostgresServer{}
	if s.port, err = freePort(nil, 0); err != nil {
		return nil, err
	}
	at := home{account: who, folder: o.Folder, data: filepath.Join(o.Folder, "data"), socket: o.Folder,
		log: filepath.Join(o.Folder, "postgres.log")}
	s.cluster = &cluster{home: at, server: installed, maintain: s.URL("postgres", "postgres"),
		extra: append([]string{"listen_addresses=" + loopback, "port=" + strconv.Itoa(s.port),
			"cluster_name=" + filepath.Base(o.Folder)}, o.Settings...)}
	if o.Copy != nil {
		s.cluster.copied = o.Copy.URL("postgres", "postgres")
	}
	if err := s.cluster.initialize(ctx); err != nil {
		return nil, err
	}
	if err := s.cluster.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the address of a database for a login.
func (s *PostgresServer) URL(login, database string) string {
	return loopbackURL(s.port, login, database)
}

// loopbackURL returns the address of a database at a port of the loopback interface.
func loopbackURL(port int, login, database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(login), Host: loopbackAddress(port), Path: "/" + database,
		RawQuery: "sslmode=disable"}).String()
}

// Address returns host:port.
func (s *PostgresServer) Address() string { return loopbackAddress(s.port) }

// Data returns the data folder. Only the account of the server can enter it.
func (s *PostgresServer) Data() string { return s.cluster.home.data }

// Bin returns the folder of the programs of this version, such as pg_dump.
func (s *PostgresServer) Bin() string { return s.cluster.server.bin }

// Claim creates a folder for the account of the server, such as one for archived WAL.
func (s *PostgresServer) Claim(folder string) error {
	return s.cluster.home.account.claimFolder(folder)
}

// Command returns a command that runs as the account of the server.
func (s *PostgresServer) Command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, arguments...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cluster.home.account.credential()}
	c.Dir = s.cluster.home.folder
	return c
}

// Execute runs statements as the superuser in a database, each in its own transaction.
func (s *PostgresServer) Execute(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", database))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// Promote makes a replica the primary and waits until it accepts writes.
func (s *PostgresServer) Promote(ctx context.Context) error {
	return s.Execute(ctx, "postgres", "select pg_promote(true, 60)")
}

// Stop stops the server: at once, as in a crash, or after it has ended its sessions.
func (s *PostgresServer) Stop(ctx context.Context, crash bool) error {
	return s.cluster.stop(ctx, crash)
}

// Start starts a stopped server with the same data at the same address.
func (s *PostgresServer) Start(ctx context.Context) error {
	if !s.cluster.running.gone() {
		return fault.New(fault.InvalidArgument, "the server is running", "stop it first")
	}
	return s.cluster.start(ctx)
}

// Log returns the last lines of the server's log.
func (s *PostgresServer) Log() string {
	text, _ := os.ReadFile(s.cluster.home.log) // a missing log is empty
	return tail(string(text), 2000)
}

// Close stops the server. Its folder remains.
func (s *PostgresServer) Close() error { return s.cluster.close() }
