package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cairn/internal/domain/fault"
)

// Addresses are the addresses of the servers of a running stack.
type Addresses struct {
	DatabaseURL       string `json:"database_url"`       // connection string of the administrator, "" without Postgres
	TemporalAddress   string `json:"temporal_address"`   // host:port, "" without Temporal
	TemporalNamespace string `json:"temporal_namespace"` // "default" unless the environment sets another
	TemporalUI        string `json:"temporal_ui"`        // base URL, "" if it is unknown or no UI runs
	PID               int    `json:"pid"`                // number of the process that owns the stack
}

// Running returns the addresses of the stack that another process has started on dir, so that a
// command uses it instead of starting a second one. It returns false if no stack runs.
func Running(dir string) (Addresses, bool) {
	var addresses Addresses
	text, err := os.ReadFile(stackFile(dir))
	if err != nil || json.Unmarshal(text, &addresses) != nil {
		return Addresses{}, false
	}
	// A killed process can leave the file behind, but not its lock.
	lock, err := tryLock(leaseFile(dir), syscall.LOCK_SH)
	if err == nil {
		lock.Close()
	}
	return addresses, errors.Is(err, errLocked)
}

func stackFile(dir string) string { return filepath.Join(dir, "stack.json") }
func leaseFile(dir string) string { return filepath.Join(dir, "stack.lock") }

// lease is the exclusive right to run the stack of a folder. It ends with this process.
type lease struct {
	dir  string
	file *os.File
}

// leasePatience is longer than the time for which Running holds the lock.
const leasePatience = 300 * time.Millisecond

func takeLease(ctx context.Context, dir string) (*lease, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "create the data folder",
			"choose a folder that can be written")
	}
	patient, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	file, err := lockFile(patient, leaseFile(dir))
	switch {
	case err == nil:
		_ = os.Remove(stackFile(dir)) // left by a killed process
		return &lease{dir: dir, file: file}, nil
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("take the stack's lock: %w", err)
	}
	if other, ok := Running(dir); ok {
		return nil, fault.New(fault.AlreadyExists,
			fmt.Sprintf("process %d already runs the stack of %s: database %s, Temporal %s", other.PID, dir,
				other.DatabaseURL, other.TemporalAddress),
			"use that stack, stop it, or choose another folder")
	}
	return nil, fault.New(fault.AlreadyExists, "another process is starting or stopping the stack of "+dir,
		"try again in a moment")
}

// publish writes the addresses for Running. The file can contain a password.
func (l *lease) publish(addresses Addresses) error {
	text, err := json.MarshalIndent(addresses, "", "  ")
	if err != nil {
		return fmt.Errorf("publish the stack: %w", err)
	}
	return replaceFile(stackFile(l.dir), text, 0o600)
}

func (l *lease) release() {
	_ = os.Remove(stackFile(l.dir))
	l.file.Close()
}
