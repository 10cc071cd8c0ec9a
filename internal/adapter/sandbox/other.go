//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"runtime"
)

// Enter has no effect: this platform has no sandboxes.
func Enter() {}

// Probe reports that this platform has no sandboxes.
func Probe(context.Context) error {
	return impossible(errors.ErrUnsupported, "not supported on "+runtime.GOOS+" "+runtime.GOARCH)
}

// Groups is empty: this platform has no cgroups.
type Groups struct{}

// Delegated reports that this platform has no cgroups.
func Delegated() (string, error) { return "", errors.ErrUnsupported }

// OpenGroups reports that this platform has no cgroups.
func OpenGroups() (*Groups, error) { return nil, errors.ErrUnsupported }

// Run rejects every job.
func (g *Groups) Run(ctx context.Context, job Job) (Outcome, error) { return Run(ctx, job) }

// Run rejects every job.
func Run(ctx context.Context, job Job) (Outcome, error) {
	if err := job.check(); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, Probe(ctx)
}

// Seal has no effect: this platform has no filter of system calls.
func Seal() error { return nil }
