package e2e_test

import (
	"os"
	"testing"

	"cairn/internal/app"
)

// The test program is also the process that parses files.
func TestMain(m *testing.M) {
	app.EnterChild()
	os.Exit(m.Run())
}
