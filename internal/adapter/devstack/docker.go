package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/fault"
)

const dockerImage = "pgvector/pgvector:pg17"

// dockerVersion returns the version of the Docker server, or "" if none responds.
func dockerVersion(ctx context.Context) string {
	if _, err := exec.LookPath("docker"); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, "docker", "info", "--format", "{{.ServerVersion}}").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

// container is PostgreSQL in Docker, the last source that is tried. It listens on a loopback port.
// If the stack has a folder, the data is in a volume.
type container struct {
	name     string
	dir      string // "" for a throw-away container
	log      string
	port     int
	password string
	has      offer
	mu       sync.Mutex
	running  *guarded
	closed   bool
}

// startContainer runs the image in the foreground of a watchdog: the signals that stop a server
// also reach the one in the container, and --rm removes the container.
func startContainer(ctx context.Context, dir string, log *journal) (database, error) {
	c := &container{dir: dir, name: "cairn-" + digest(dir), log: filepath.Join(dir, "postgres.log")}
	if dir == "" {
		c.name = "cairn-" + strings.ToLower(rand.Text()[:12])
		c.log = os.DevNull
	}
	var err error
	if c.password, err = c.rememberPassword(); err != nil {
		return nil, err
	}
	if c.port, err = freePort(nil, 0); err != nil {
		return nil, err
	}
	done := log.task("starting PostgreSQL in Docker", "longer if "+dockerImage+" must be fetched")
	err = c.start(ctx)
	done(err)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// rememberPassword returns the password of the container. It is stored in the data folder, because
// the volume keeps the password of its first start.
func (c *container) rememberPassword() (string, error) {
	if c.dir == "" {
		return rand.Text(), nil
	}
	path := filepath.Join(c.dir, "postgres.password")
	if text, err := os.ReadFile(path); err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	password := rand.Text()
	return password, replaceFile(path, []byte(password), 0o600)
}

func (c *container) start(ctx context.Context) error {
	args := []string{"docker", "run", "--rm", "--name", c.name, "--shm-size", "256m",
		"--publish", fmt.Sprintf("%s:%d:5432", loopback, c.port), "--env", "POSTGRES_PASSWORD=" + c.password}
	if c.dir != "" {
		args = append(args, "--volume", c.name+":/var/lib/postgresql/data")
	}
	args = append(args, dockerImage)
	for _, setting := range []string{"max_connections=200", "jit=off", "timezone=GMT",
		"max_parallel_maintenance_workers=0"} {
		args = append(args, "-c", setting)
	}
	output, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer output.Close()
	c.running, err = guard(command{name: "PostgreSQL in Docker", args: args, env: os.Environ(), dir: "/",
		account: self(),
		gentle:  "INT", patience: orphanPatience, hard: "QUIT", output: output})
	if err != nil {
		return err
	}
	for {
		if c.has, err = readyDatabase(ctx, c.address("postgres")); err == nil {
			return nil
		}
		var known *fault.Error
		switch {
		case errors.As(err, &known):
		case c.running.gone():
			err = fault.New(fault.Unavailable, "docker run ended while PostgreSQL started",
				"see "+c.log+" and try: docker run --rm "+dockerImage)
		default:
			select {
			case <-ctx.Done():
			case <-time.After(lockPoll):
				continue
			}
		}
		c.running.stop()
		return err
	}
}

func (c *container) address(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.UserPassword("postgres", c.password), Path: "/" + database,
		Host: loopbackAddress(c.port), RawQuery: "sslmode=disable"}).String()
}

func (c *container) url() string { return c.address(databaseName) }

func (c *container) restart(ctx context.Context, crash bool) error {
	if c.dir == "" {
		return fault.New(fault.InvalidArgument, "a throw-away PostgreSQL in Docker loses its data when it ends",
			"set a data folder for the stack")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	signal := "INT"
	if crash {
		signal = "QUIT"
	}
	if c.closed {
		return errClosed
	}
	if err := c.running.end(ctx, signal); err != nil {
		return err
	}
	return c.start(ctx)
}

func (c *container) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.running.stop()
	return nil
}

func (c *container) found() []Found {
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: c.has.postgres.String(), Where: "Docker, container " + c.name},
		{Part: "pgvector", Status: statusOK, Version: c.has.vector.String(), Where: dockerImage},
	}
}
