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

// awaitReady asks until the server answers; it refuses while it recovers.
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
				"its log is "+c.home.log)
		case <-ctx.Done():
			return fault.Wrap(err, fault.Unavailable, "PostgreSQL did not become ready", "its log is "+c.home.log)
		case <-poll.C:
		}
	}
}

// clearPredecessor sees to a server that a killed process left on this data:
// its watchdog is ending it, which is waited for. A lock file whose process is
// something else is removed, since PostgreSQL would be misled by the number.
func clearPredecessor(ctx context.Context, data string) error {
	path := filepath.Join(data, "postmaster.pid")
	for {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
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

// commandLine is how a process was called, "" when there is none. Not every
// system has /proc.
func commandLine(ctx context.Context, pid int) string {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return strings.ReplaceAll(string(text), "\x00", " ")
	}
	output, _ := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(output)
}
