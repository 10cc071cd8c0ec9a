// Package testkit is what tests of all packages share. It imports nothing of Cairn, so
// that a test program holds no more than what it tests.
package testkit

import "testing"

// Long leaves a test to `make test-all` where only the short ones run, as in
// `make test`: one that waits for leases or deadlines, kills processes again and
// again, goes through many cases, or for another reason takes its time. It is the
// first line of such a test.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long test: make test-all runs it")
	}
}
