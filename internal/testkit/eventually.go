package testkit

import (
	"testing"
	"time"
)

// Eventually waits until holds returns true, and ends the test after a minute. It is
// for what other processes do, which give no signal.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}
