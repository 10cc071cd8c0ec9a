// Package internal_test enforces the architecture: which layer may import which, and where third-party libraries may be
// used.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// layers maps path prefixes below the module to layers. The longest prefix wins.
var layers = map[string]string{
	"internal/domain":  "domain",
	"internal/store":   "store",
	"internal/service": "service",
	"internal/adapter": "adapter",
	"internal/gateway": "gateway",
	"internal/app":     "app",
	"internal/lab":     "lab",
	"internal/testkit": "testkit",
	"internal":         "architecture", // this test
	"workflows":        "workflows",
	"activities":       "activities",
	"schemas":          "schemas",
	"worker":           "main",
	"starter":          "main",
	"starter/client":   "client",
	"deploy":           "experiment",
	"docs":             "experiment",
	"docs/examples":    "experiment",
	"clients":          "experiment",
}

// allowed lists, for each layer, the layers and path prefixes that it may import
// besides itself.
var allowed = map[string][]string{
	"domain":  {},
	"store":   {"domain", "schemas"},
	"service": {"domain", "store"},
	"adapter": {"domain", "service"},
	"gateway": {"domain", "service"},
	"workflows": {"internal/domain/contract", "internal/domain/agent", "internal/domain/nudge",
		"internal/domain/fault"},
	"activities":   {"domain", "service"},
	"app":          {"domain", "service", "store", "adapter", "gateway", "workflows", "activities", "schemas"},
	"main":         {"app"},
	"client":       {},
	"testkit":      {},
	"schemas":      {},
	"lab":          {"*"},
	"experiment":   {"*"},
	"architecture": {},
}

// allowedFor lists what single packages may import in addition to their layer.
var allowedFor = map[string][]string{
	"internal/domain/prompt": {"schemas"},
}

// library restricts a third-party package to some places. Test files are free.
type library struct {
	prefix string
	within []string // path prefixes or layers
}

var libraries = []library{
	{"github.com/jackc/pgx/", []string{"internal/store", "internal/adapter/devstack",
		"lab"}},
	{"github.com/openai/", []string{"internal/adapter/openai", "internal/adapter/embedding", "lab"}},
	{"github.com/aliyun/", []string{"internal/adapter/objectstore", "lab"}},
	{"go.temporal.io/sdk/client", []string{"internal/adapter/launcher", "internal/adapter/payloadcodec",
		"internal/adapter/devstack", "app", "lab", "experiment"}},
}

// impure are imports that domain and service packages do not have.
var impure = []string{"github.com/jackc/pgx", "go.temporal.io/", "github.com/openai/", "github.com/aliyun/",
	"github.com/danielgtaylor/huma", "github.com/spf13/cobra", "github.com/modelcontextprotocol/", "net/http",
	"database/sql"}

// exceptions maps an edge, as this test reports it, to the reason why it stays
// for now. An exception that is not needed fails the test.
var exceptions = map[string]string{}

// module is the path of this module, with a slash at the end.
var module = modulePath() + "/"

// listed is what `go list -json` says about a package.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestLayers(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	report := func(edge, rule string) {
		if _, ok := exceptions[edge]; ok {
			used[edge] = true
			return
		}
		t.Errorf("%s: %s", edge, rule)
	}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		checkImports(from, p.Imports, report)
	}
	for edge := range maps.Keys(exceptions) {
		if !used[edge] {
			t.Errorf("the exception %q is not needed any more: delete it", edge)
		}
	}
}

// checkImports reports the imports of a package that no rule allows. Tests may import everything: a service is tested
// with the real database, a gateway with a complete Cairn.
func checkImports(from string, imports []string, report func(edge, rule string)) {
	layer := layerOf(from)
	if layer == "" {
		report(from, "belongs to no layer; add it to layers")
		return
	}
	may := slices.Concat(allowed[layer], allowedFor[from])
	for _, path := range imports {
		to, ours := strings.CutPrefix(path, module)
		edge := from + " imports " + strings.TrimPrefix(path, module)
		switch {
		case ours && !permits(may, layer, to):
			report(edge, fmt.Sprintf("%s may import %s", layer, strings.Join(append([]string{layer}, may...), ", ")))
		case !ours && slices.Contains([]string{"domain", "service"}, layer) && hasPrefix(path, impure):
			report(edge, layer+" packages use no database, network or SDK")
		case !ours && !permitsLibrary(from, layer, path):
			report(edge, "this library is used in its adapter only")
		case !ours && (layer == "client" || layer == "testkit") &&
			strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
			report(edge, layer+" imports the standard library only")
		}
	}
}

func layerOf(path string) string {
	best := ""
	for prefix := range layers {
		if (path == prefix || strings.HasPrefix(path, prefix+"/")) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return layers[best]
}

func permits(may []string, layer, to string) bool {
	target := layerOf(to)
	return target == layer && layer != "main" || slices.Contains(may, "*") || slices.Contains(may, target) ||
		slices.Contains(may, to)
}

func permitsLibrary(from, layer, path string) bool {
	for _, l := range libraries {
		if strings.HasPrefix(path, l.prefix) && !slices.Contains(l.within, layer) && !hasPrefix(from, l.within) {
			return false
		}
	}
	return true
}

func hasPrefix(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
}

// A new folder below internal is a new layer, and layers are decided, not added in passing.
func TestLayersAreTheFoldersOfInternal(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && layers["internal/"+e.Name()] == "" {
			t.Errorf("internal/%s is no layer: move it into one", e.Name())
		}
	}
}

// modulePath is the first part of this package's path: internal is below the module.
func modulePath() string {
	type here struct{}
	return strings.TrimSuffix(strings.TrimSuffix(reflect.TypeFor[here]().PkgPath(), "_test"), "/internal")
}

func packages(t *testing.T) (out []listed) {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	text, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}
