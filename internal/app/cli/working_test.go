package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cairn/internal/service/offload"
)

// putAway puts the fixture away before an example looks into it, and gives the
// example a handle that there is.
func (w *world) putAway(t *testing.T, args []string) []string {
	t.Helper()
	if args[1] == "offload" {
		return args
	}
	code, out, errs := w.run("", "working", "offload", "conversation.json", "--session", "demo", "--total", "100",
		"--keep", "0")
	var got offload.ShortenedThread
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Away) == 0 || got.Degraded ||
		got.TokensAfter >= got.TokensBefore {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "offload://") }); at >= 0 {
		args[at] = got.Away[0].Handle
	}
	return args
}
