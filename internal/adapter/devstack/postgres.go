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
	"sync"
	"time"
)

const (
	// startPatience is what a server has to answer, recovery after a crash included.
	startPatience = 60 * time.Second
	// orphanPatience is what a server has to end gently when its parent has died.
	orphanPatience = 2 * time.Second
	// closePatience is what a server with lasting data has to end gently in Close.
	closePatience = 20 * time.Second
	// readyPoll is how often a starting server is asked.
	readyPoll = 20 * time.Millisecond
)

// cluster is a private PostgreSQL: own data, own Unix socket, no network port.
type cluster struct {
	home     home
	server   server
	has      offer
	mu       sync.Mutex // held while the server is started or stopped
	running  *guarded
	closed   bool
	maintain string // address of the database postgres
}

// startCluster makes the cluster when it does not exist and starts it.
func startCluster(ctx context.Context, at home, with server) (database, error) {
	if err := at.pitch(); err != nil {
		return nil, errors.Join(err, at.strike())
	}
	c := &cluster{home: at, server: with, maintain: socketURL(at.socket, "postgres")}
	if !exists(filepath.Join(at.data, "PG_VERSION")) {
		if err := c.initialise(ctx); err != nil {
			return nil, errors.Join(err, at.strike())
		}
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, at.strike())
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

// initialise makes the cluster beside its place and renames it, so that a
// half-made one never counts.
func (c *cluster) initialise(ctx context.Context) error {
	part := c.home.data + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("remove an unfinished cluster: %w", err)
	}
	// A UTF-8 locale of the C library, for only that folds letters such as É in
	// full-text search.
	args := []string{c.server.program("initdb"), "-D", part, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=" + locale(), "--no-instructions"}
	remove := part
	if c.home.discard {
		args, remove = append(args, "--no-sync"), c.home.folder
	}
	if _, err := run(ctx, c.command("initdb", args, remove)); err != nil {
		return fmt.Errorf("make a PostgreSQL cluster in %s: %w", c.home.folder, err)
	}
	if err := os.Rename(part, c.home.data); err != nil {
		return fmt.Errorf("make a PostgreSQL cluster: %w", err)
	}
	return nil
}

// locale is the one for everything; macOS has no C.UTF-8.
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

// settings of the server. Named time zones are left to Go, because a machine
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
	return append(settings, "fsync=on", "synchronous_commit=on")
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
	signal := "INT" // fast shutdown
	if crash {
		signal = "QUIT" // immediate shutdown: recovery at the next start
	}
	if c.closed {
		return errClosed
	}
	if err := c.running.end(ctx, signal); err != nil {
		return err
	}
	return c.start(ctx)
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if !c.home.discard {
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		_ = c.running.end(ctx, "INT") // too slow: the watchdog is next
	}
	c.running.stop()
	if c.home.discard {
		return c.home.strike()
	}
	_ = os.Remove(c.home.socket) // fails when somebody has put something there
	return nil
}

func (c *cluster) url() string { return socketURL(c.home.socket, databaseName) }

func (c *cluster) found() []Found {
	data := Found{Part: "data", Status: statusOK, Where: c.home.data}
	if c.home.moved {
		data.Hint = fmt.Sprintf("kept there because %s, who runs PostgreSQL for root, cannot enter the data folder",
			c.home.account.name)
	}
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: c.has.postgres.String(), Where: c.server.bin,
			Hint: "runs as " + c.home.account.name},
		{Part: "pgvector", Status: statusOK, Version: c.has.vector.String(), Where: c.server.bin},
		data,
	}
}
