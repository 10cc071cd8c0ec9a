package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// A team publishes Cairn under its own path: one command renames the module, and a
// program of another module can then import the client library.
func TestTheModuleCanBeRenamed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tree := filepath.Join(t.TempDir(), "tree")
	copyTracked(t, tree)
	const name = "git.example.org/team/cairn"
	run(t, tree, "go", "run", ".ci/module.go", name)
	if again := run(t, tree, "go", "run", ".ci/module.go", name); !strings.Contains(again, "already") {
		t.Errorf("renaming twice prints %q", again)
	}
	run(t, tree, "go", "vet", "./starter/...", "./worker", "./internal", "./docs/...")
	if out := run(t, tree, "gofmt", "-l", "starter", "internal", "worker"); out != "" {
		t.Errorf("gofmt would change %s", out)
	}

	program := filepath.Join(t.TempDir(), "agent")
	testkit.Must(t, os.MkdirAll(program, 0o755))
	testkit.Must(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(`package main

import (
	"fmt"

	"`+name+`/starter/client"
)

func main() {
	_, err := client.New(client.Config{Mode: "unknown"})
	fmt.Println(err != nil)
}
`), 0o600))
	run(t, program, "go", "mod", "init", "example.org/agent")
	run(t, program, "go", "mod", "edit", "-require", name+"@v0.0.0", "-replace", name+"="+tree)
	run(t, program, "go", "mod", "tidy")
	if out := run(t, program, "go", "run", "."); out != "true\n" {
		t.Errorf("the program of another module prints %q", out)
	}
}

func TestARenameNeedsAPathThatCanBeImported(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "no module path given", "cairn2": "no dot", "a.org/b c": "module path"} {
		command := exec.Command("go", "run", ".ci/module.go", name)
		command.Dir, command.Env = "..", append(os.Environ(), "FORCE=1")
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "hint: ") {
			t.Errorf("%q: %v, %s", name, err, out)
		}
	}
}

// copyTracked copies the files that git knows.
func copyTracked(t *testing.T, to string) {
	t.Helper()
	list := run(t, "..", "git", "ls-files", "--cached", "--others", "--exclude-standard")
	for path := range strings.Lines(list) {
		path = strings.TrimSpace(path)
		raw, err := os.ReadFile(filepath.Join("..", path))
		if os.IsNotExist(err) {
			continue
		}
		testkit.Must(t, err)
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(to, path), raw, 0o600))
	}
}

func run(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
