package workflows_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Workflow code must not be able to reach what is not deterministic, nor what
// would drag the adapters into it.
func TestWorkflowsReachNoAdapter(t *testing.T) {
	t.Parallel()
	ours := map[string]bool{"cairn/workflows": true, "cairn/internal/domain/contract": true,
		"cairn/internal/domain/agent": true, "cairn/internal/domain/nudge": true, "cairn/internal/domain/fault": true}
	forbidden := []string{"github.com/jackc/pgx", "github.com/openai/", "github.com/aliyun/"}
	for _, dep := range deps(t, "cairn/workflows") {
		if strings.HasPrefix(dep, "cairn/") && !ours[dep] {
			t.Errorf("workflows reach %s", dep)
		}
		for _, f := range forbidden {
			if strings.HasPrefix(dep, f) {
				t.Errorf("workflows reach %s", dep)
			}
		}
	}
}

// The Temporal SDK itself imports net/http and os/exec, so for those it is our
// own packages that are looked at.
func TestWorkflowsImportNeitherNetworkNorProcesses(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{"cairn/workflows", "cairn/internal/domain/contract", "cairn/internal/domain/agent", "cairn/internal/domain/nudge", "cairn/internal/domain/fault"} {
		for _, imported := range strings.Fields(list(t, "{{join .Imports \"\\n\"}}", pkg)) {
			switch imported {
			case "net", "net/http", "os", "os/exec", "math/rand", "math/rand/v2", "database/sql":
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

// The contract is importable by everybody: it depends on the standard library only.
func TestFlowDependsOnTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, dep := range deps(t, "cairn/internal/domain/contract") {
		if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") {
			t.Errorf("flow depends on %s", dep)
		}
	}
}

// Domain packages know no adapter.
func TestDomainImportsNoAdapter(t *testing.T) {
	t.Parallel()
	domain := []string{"cairn/internal/domain/skill", "cairn/internal/domain/transcript", "cairn/internal/domain/lang", "cairn/internal/domain/run", "cairn/internal/domain/fault",
		"cairn/internal/domain/agent", "cairn/internal/domain/nudge", "cairn/internal/domain/recurrence", "cairn/internal/domain/workingmemory", "cairn/internal/domain/memoryskill", "cairn/internal/domain/memoryskill/policy", "cairn/internal/domain/memoryskill/designer"}
	adapters := []string{"github.com/jackc/pgx", "go.temporal.io/", "github.com/openai/", "net/http", "cairn/internal/adapter/postgres", "cairn/internal/adapter/openai", "cairn/internal/adapter/embedding", "cairn/internal/adapter/objectstore"}
	for _, pkg := range domain {
		for _, dep := range deps(t, pkg) {
			for _, a := range adapters {
				if dep == a || strings.HasPrefix(dep, a) && strings.HasSuffix(a, "/") || strings.HasPrefix(dep, a+"/") {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}

func deps(t *testing.T, pkg string) []string {
	t.Helper()
	return strings.Fields(list(t, "{{join .Deps \"\\n\"}}\n{{.ImportPath}}", pkg))
}

func list(t *testing.T, format, pkg string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", format, pkg).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	return string(out)
}
