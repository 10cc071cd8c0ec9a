package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
)

// awaitReady polls until the server responds. It refuses connections while it recovers.
func (c *cluster) awaitReady(ctx context.Context) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.maintain)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.running.exited:
			text, _ := os.ReadFile(c.home.log)
			return fault.New(fault.Unavailable, "PostgreSQL ended while it started: "+tail(string(text), 1000),
				"see its log "+c.home.log)
		case <-ctx.Done():
			return fault.Wrap(err, fault.Unavailable, "PostgreSQL did not become ready", "see its log "+c.home.log)
		case <-poll.C:
		}
	}
}

// clearPredecessor handles a server that a killed process left on this data. Its watchdog is
// stopping that server, so clearPredecessor waits. If the process of the lock file is another
// program, the lock file is removed, because its number would mislead PostgreSQL.
func clearPredecessor(ctx context.Context, data string) error {
	path := filepath.Join(data, "postmaster.pid")
	for {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // no predecessor
		}
		first, _, _ := strings.Cut(string(text), "\n")
		pid, _ := strconv.Atoi(strings.TrimSpace(first))
		if pid <= 0 || !strings.Contains(commandLine(ctx, pid), data) {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("remove the stale lock of PostgreSQL: %w", err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.New(fault.AlreadyExists, fmt.Sprintf("another PostgreSQL, process %d, uses %s", pid, data),
				"stop that process")
		case <-time.After(lockPoll):
		}
	}
}

// commandLine returns the command line of a process, or "" if the process does not exist. Not every
// system has /proc.
func commandLine(ctx context.Context, pid int) string {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return strings.ReplaceAll(string(text), "\x00", " ")
	}
	output, _ := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(output)
}
