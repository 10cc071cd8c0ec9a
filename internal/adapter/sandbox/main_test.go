//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"cairn/internal/adapter/sandbox"
)

// tried is the last line of an attempt that was made to its end.
const tried = "TRIED-ALL"

// The test program is what is run in the sandboxes, too: with one argument it is
// an attempt to get out.
func TestMain(m *testing.M) {
	sandbox.Enter()
	if len(os.Args) > 2 && os.Args[1] == "attempt" {
		name, _, _ := strings.Cut(os.Args[2], ":")
		attempts[name](os.Args[2:])
		fmt.Println(tried)
		os.Exit(0)
	}
	os.Exit(m.Run())
}
