package review_test

import (
	"testing"

	"cairn/internal/domain/review"
)

// trials returns trials of version 2, the latest first: p for a pass, f for a failure. Other characters are failures
// of version 1.
func trials(text string) (out []review.Trial) {
	for _, r := range text {
		version := 2
		if r != 'p' && r != 'f' {
			version = 1
		}
		out = append(out, review.Trial{Version: version, Passed: r == 'p'})
	}
	return out
}

func TestFailingVersions(t *testing.T) {
	t.Parallel()
	for text, failing := range map[string]bool{
		"":            false,
		"ff":          false,
		"fff":         true,
		"ffpf":        false,
		"f.f.f":       true,  // trials of another version do not count
		"...":         false, // those of another version
		"pfff":        false, // it passed since; four trials give no bound
		"pffff":       true,  // 1 of 5
		"ppfff":       false, // 2 of 5 may be chance
		"pfpfffffpff": true,  // 3 of 11
		"pppppppfff":  false,
	} {
		if got := review.Failing(trials(text), 2); (got != "") != failing {
			t.Errorf("%q: got %q, want failing %v", text, got, failing)
		}
	}
	if got := review.Failing(trials("fff"), 2); got != "version 2 failed 3 times in a row" {
		t.Errorf("got %q", got)
	}
}

func TestProvenVersions(t *testing.T) {
	t.Parallel()
	for text, proven := range map[string]bool{"": false, "p": true, "pf": false, "ppf": true, "f": false} {
		if got := review.Proven(trials(text), 2); got != proven {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
