package edge_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// What the edge does is done nowhere else: a gateway that admits keys or writes event streams by itself forgets a rule
// sooner or later.
func TestOnlyTheEdgeAdmitsKeysAndWritesStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.go")
	testkit.Must(t, err)
	if len(files) < 100 {
		t.Fatalf("only %d files", len(files))
	}
	for call, others := range map[string][]string{
		"text/event-stream":  nil,
		"SetWriteDeadline(":  nil,
		".Flush()":           nil,
		"GatewayPrincipal(":  nil,
		"Keys.Operator(":     nil,
		"WWW-Authenticate":   {"httpapi/codec.go"},    // asks a browser for a password
		"Keys.Principal(":    {"httpapi/dump.go"},     // a second key, which allows a copy from its workspace
		"audit.WithKey(":     {"console/operator.go"}, // the holder of a cookie
		"throttle.New(":      nil,
		`"Authorization")`:   {"mem0api/call.go"}, // mem0's scheme Token
		"json.NewEncoder(w)": nil,
	} {
		for _, file := range files {
			name := strings.TrimPrefix(filepath.ToSlash(file), "../")
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "edge/") ||
				slices.Contains(others, name) {
				continue
			}
			source, err := os.ReadFile(file)
			testkit.Must(t, err)
			if strings.Contains(string(source), call) {
				t.Errorf("%s has %s, which is for the edge", name, call)
			}
		}
	}
}
