package browsertest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cairn/internal/lab/browsertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browsertest.Stop()
	if missed := browsertest.Missed(); code == 0 && everythingRan() && len(missed) > 0 {
		fmt.Printf("FAIL: no test uses these routes in a browser:\n\t%s\n", strings.Join(missed, "\n\t"))
		code = 1
	}
	os.Exit(code)
}

// everythingRan reports whether all tests were to run, in a browser.
func everythingRan() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return os.Getenv("CAIRN_TEST_CONSOLE") != ""
}
