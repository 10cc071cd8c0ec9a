// Package testkit contains helpers for the tests of all packages. It imports no package of Cairn,
// so that a test binary links only the code that it tests.
package testkit

import "testing"

// Long skips a long test under `make test`; `make test-all` runs it. A test is long if it waits for
// leases or deadlines, kills processes repeatedly or goes through many cases. Call it in the first
// line of such a test.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long test: run by make test-all")
	}
}
