package testkit

import (
	"testing"
	"time"
)

// Eventually waits until holds returns true, and fails the test after a minute. Use it for effects
// of other processes, which send no signal.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
