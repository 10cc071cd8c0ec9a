package filetext_test

import (
	"os"
	"testing"

	"cairn/internal/adapter/filetext"
)

// The test program is also the process that parses a file.
func TestMain(m *testing.M) {
	filetext.Enter()
	os.Exit(m.Run())
}

// parses skips a test that parses files if the race detector is on: it maps more memory than the process may have.
func parses(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector needs more memory than the process that parses a file may have")
	}
}
