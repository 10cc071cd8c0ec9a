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
