package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	temporallog "go.temporal.io/sdk/log"
)

// A worker that stops is no reason for a warning; other failures of its pollers are.
func TestAStoppingWorkerDoesNotWarn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := temporallog.With(quietStop{temporallog.NewStructuredLogger(slog.New(slog.NewTextHandler(&out, nil)))},
		"TaskQueue", "cairn")
	log.Warn("Failed to poll for task.", "Error", errors.New("worker stopping"))
	if out.Len() > 0 {
		t.Errorf("logged: %s", out.String())
	}
	log.Warn("Failed to poll for task.", "Error", errors.New("connection refused"))
	if got := out.String(); !strings.Contains(got, "connection refused") || !strings.Contains(got, "TaskQueue=cairn") {
		t.Errorf("logged: %q", got)
	}
}
