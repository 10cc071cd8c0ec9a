package run_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// IDs are drawn independently, and all characters of the alphabet are used alike.
func TestNewIDIsRandom(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seen, used := map[string]bool{}, map[rune]int{}
	for range n {
		id := run.NewID()
		if !run.ValidID(id) || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
		for _, c := range strings.TrimPrefix(id, "run_") {
			used[c]++
		}
	}
	if len(used) != 32 {
		t.Errorf("%d characters are used", len(used))
	}
	for c, times := range used { // the standard deviation is 89
		if want := n * 26 / 32; times < want-900 || times > want+900 {
			t.Errorf("%q is used %d times, want about %d", c, times, want)
		}
	}
}

func TestIDOfAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	const valid = "run_0h3xk9m2p7q4r8s1t5v6w0y3zd"
	if err := run.CheckID(valid); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", "1", "-1", "0", "run_", "9223372036854775807", valid[:len(valid)-1], valid + "0",
		strings.ToUpper(valid), "RUN_" + valid[4:], "run-" + valid[4:], " " + valid, valid + "\n",
		"run_0h3xk9m2p7q4r8s1t5v6w0y3zi", "run_0h3xk9m2p7q4r8s1t5v6w0y3zl", "run_0h3xk9m2p7q4r8s1t5v6w0y3zo",
		"run_0h3xk9m2p7q4r8s1t5v6w0y3zu", "run_0h3xk9m2p7q4r8s1t5v6w0y3z\x00", "run_0h3xk9m2p7q4r8s1t5v6w0y3é",
		"run_0h3xk9m2p7q4r8s1t5v6w0y3z'", "conv_0h3xk9m2p7q4r8s1t5v6w0y3z"} {
		err := run.CheckID(id)
		if f := fault.From(err); err == nil || f.Code != fault.InvalidArgument || !strings.Contains(f.Hint, valid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
