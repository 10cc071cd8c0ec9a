package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// startPatience is the time in which a server must respond, including recovery after a crash.
	startPatience = 60 * time.Second
	// orphanPatience is the time that a server has to stop after its parent has died.
	orphanPatience = 2 * time.Second
	// closePatience is the time that a server with persistent data has to stop in Close.
	closePatience = 20 * time.Second
	// readyPoll is the interval at which a starting server is asked.
	readyPoll = 20 * time.Millisecond
)

// cluster is a private PostgreSQL with its own data and Unix socket, and without a network port.
type cluster struct {
	home     home
	server   server
	has      offer
	mu       sync.Mutex // held while the server is started or stopped
	running  *guarded
	closed   bool
	maintain string   // address of the database postgres
	extra    []string // settings that override those of settings
	copied   string   // address of the server that the data is a copy of; "" for an empty cluster
}

// startCluster creates the cluster if it does not exist and starts it.
func startCluster(ctx context.Context, at home, installed server) (database, error) {
	if err := at.createFolder(); err != nil {
		return nil, errors.Join(err, at.removeFolder())
	}
	c := &cluster{home: at, server: installed, maintain: socketURL(at.socket, "postgres")}
	if !exists(filepath.Join(at.data, "PG_VERSION")) {
		if err := c.initialize(ctx); err != nil {
			return nil, errors.Join(err, at.removeFolder())
		}
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, at.removeFolder())
	}
	has, err := readyDatabase(ctx, c.maintain)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.has = has
	return c, nil
}

func socketURL(socket, name string) string {
	query := url.Values{"host": {socket}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + name + "?" + query.Encode()
}

// initialize creates the cluster under a temporary name and renames it, so that a partial one is
// never used.
func (c *cluster) initialize(ctx context.Context) error {
	part := c.home.data + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("remove an incomplete cluster: %w", err)
	}
	name, args, remove := "initdb", c.initdb(part), part
	switch {
	case c.copied != "":
		name, args = "pg_basebackup", []string{c.server.program("pg_basebackup"), "--dbname=" + c.copied,
			"--pgdata=" + part, "--write-recovery-conf", "--checkpoint=fast"}
	case c.home.discard:
		args, remove = append(args, "--no-sync"), c.home.folder
	}
	if _, err := run(ctx, c.command(name, args, remove)); err != nil {
		return fmt.Errorf("create a PostgreSQL cluster in %s: %w", c.home.folder, err)
	}
	if err := os.Rename(part, c.home.data); err != nil {
		return fmt.Errorf("create a PostgreSQL cluster: %w", err)
	}
	return nil
}

// initdb returns the command that creates an empty cluster. It has a UTF-8 locale of the C library: other
// locales do not fold letters such as É in full-text search.
func (c *cluster) initdb(data string) []string {
	return []string{c.server.program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=" + locale(), "--no-instructions"}
}

// locale returns the locale of all categories. macOS has no C.UTF-8.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "en_US.UTF-8"
	}
	return "C.UTF-8"
}

func (c *cluster) command(name string, args []string, remove string) command {
	return command{
		name: name, args: args, dir: c.home.folder, account: c.home.account,
		env:    []string{"LC_ALL=" + locale(), "TZ=UTC", "PATH=/usr/bin:/bin"},
		gentle: "INT", patience: orphanPatience, hard: "QUIT", remove: remove,
	}
}

// settings returns the server settings. Named time zones are resolved in Go, because a machine
// without tzdata has none.
func (c *cluster) settings() []string {
	settings := []string{
		"listen_addresses=", "max_connections=200", "shared_buffers=" + cmp.Or(c.home.buffers, "128MB"), "jit=off",
		"timezone=GMT", "log_timezone=GMT",
		// CVE-2026-3172: pgvector before 0.8.2 overflows in parallel HNSW builds.
		"max_parallel_maintenance_workers=0",
	}
	if c.home.discard {
		return append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal",
			"max_wal_senders=0", "max_wal_size=256MB")
	}
	return slices.Concat(settings, []string{"fsync=on", "synchronous_commit=on"}, c.extra)
}

func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := clearPredecessor(ctx, c.home.data); err != nil {
		return err
	}
	output, err := openLog(c.home.log, c.home.account)
	if err != nil {
		return err
	}
	defer output.Close()
	args := []string{c.server.program("postgres"), "-D", c.home.data, "-k", c.home.socket}
	for _, setting := range c.settings() {
		args = append(args, "-c", setting)
	}
	command := c.command("PostgreSQL", args, "")
	command.output = output
	if c.home.discard {
		command.remove = c.home.folder
	}
	if c.running, err = guard(command); err != nil {
		return err
	}
	if err := c.awaitReady(ctx); err != nil {
		c.running.stop()
		return err
	}
	return nil
}

func (c *cluster) restart(ctx context.Context, crash bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if err := c.stop(ctx, crash); err != nil {
		return err
	}
	return c.start(ctx)
}

// stop ends the server, until start. The caller holds mu, or is the only user of the cluster.
func (c *cluster) stop(ctx context.Context, crash bool) error {
	signal := "INT" // fast shutdown
	if crash {
		signal = "QUIT" // immediate shutdown: recovery at the next start
	}
	return c.running.end(ctx, signal)
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if !c.home.discard {
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		_ = c.stop(ctx, false) // too slow: the watchdog stops it next
	}
	c.running.stop()
	if c.home.discard {
		return c.home.removeFolder()
	}
	_ = os.Remove(c.home.socket) // fails if the folder is not empty
	return nil
}

func (c *cluster) url() string { return socketURL(c.home.socket, databaseName) }

func (c *cluster) found() []Found {
	data := Found{Part: "data", Status: statusOK, Where: c.home.data}
	if c.home.moved {
		data.Hint = fmt.Sprintf("stored there because the account %s, which runs PostgreSQL for root, "+
			"cannot enter the data folder",
			c.home.account.name)
	}
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: c.has.postgres.String(), Where: c.server.bin,
			Hint: "running as " + c.home.account.name},
		{Part: "pgvector", Status: statusOK, Version: c.has.vector.String(), Where: c.server.bin},
		data,
	}
}
