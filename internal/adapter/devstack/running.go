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

// Addresses are where the servers of a running stack answer.
type Addresses struct {
	DatabaseURL       string `json:"database_url"`       // administrator's connection string, "" without Postgres
	TemporalAddress   string `json:"temporal_address"`   // host:port, "" without Temporal
	TemporalNamespace string `json:"temporal_namespace"` // "default" unless the environment says otherwise
	TemporalUI        string `json:"temporal_ui"`        // base URL, "" when there is no UI or nobody knows it
	PID               int    `json:"pid"`                // process that holds the stack
}

// Running finds the stack that another process has started on dir, so that a
// command uses it instead of starting a second one.
func Running(dir string) (Addresses, bool) {
	var addresses Addresses
	text, err := os.ReadFile(stackFile(dir))
	if err != nil || json.Unmarshal(text, &addresses) != nil {
		return Addresses{}, false
	}
	// The file may be what a killed process left; its lock cannot.
	lock, err := tryLock(leaseFile(dir), syscall.LOCK_SH)
	if err == nil {
		lock.Close()
	}
	return addresses, errors.Is(err, errLocked)
}

func stackFile(dir string) string { return filepath.Join(dir, "stack.json") }
func leaseFile(dir string) string { return filepath.Join(dir, "stack.lock") }

// lease is the right to run the stack of a folder. It ends with this process.
type lease struct {
	dir  string
	file *os.File
}

// leasePatience outlasts a moment in which Running tries the lock.
const leasePatience = 300 * time.Millisecond

func takeLease(ctx context.Context, dir string) (*lease, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "make the data folder", "choose a folder that can be written")
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
			"use that one, or stop it, or choose another folder")
	}
	return nil, fault.New(fault.AlreadyExists, "another process is starting or stopping the stack of "+dir,
		"try again in a moment")
}

// publish lets Running find the stack. The file can hold a password.
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
