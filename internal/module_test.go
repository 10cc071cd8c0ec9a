package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

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
	raw, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	testkit.Must(t, err)
	if got := modfile.ModulePath(raw); got != name {
		t.Errorf("go.mod names %s", got)
	}
	run(t, tree, "go", "vet", "./starter/...", "./worker", "./internal", "./docs/...")
	if out := run(t, tree, "gofmt", "-l", "."); out != "" {
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
	c, err := client.New(client.Config{Key: "key"})
	fmt.Println(err, c.Close())
}
`), 0o600))
	run(t, program, "go", "mod", "init", "example.org/agent")
	run(t, program, "go", "mod", "edit", "-require", name+"@v0.0.0", "-replace", name+"="+tree)
	run(t, program, "go", "mod", "tidy")
	if out := run(t, program, "go", "run", "."); out != "<nil> <nil>\n" {
		t.Errorf("the program of another module prints %q", out)
	}
}

func TestARenameRefusesAPathThatCannotBeImported(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() // never the tree itself: a path that is not refused renames it
	const before = "module cairn\n\ngo 1.26\n"
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(before), 0o600))
	program := filepath.Join(t.TempDir(), "module")
	run(t, "..", "go", "build", "-o", program, ".ci/module.go")
	for name, want := range map[string]string{"": "no module path given", "cairn2": "missing dot",
		"a.org/b c": "invalid char", "a.org/cairn/v1": "invalid version", "-a.org/cairn": "leading dash"} {
		command := exec.Command(program, name)
		command.Dir = folder
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "hint: ") {
			t.Errorf("%q: %v, %s", name, err, out)
		}
	}
	raw, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	testkit.Must(t, err)
	if string(raw) != before {
		t.Errorf("go.mod is now %q", raw)
	}
}

func TestARenameRefusesUncommittedChanges(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module cairn\n"), 0o600))
	run(t, folder, "git", "init", "-q")
	program := filepath.Join(t.TempDir(), "module")
	run(t, "..", "go", "build", "-o", program, ".ci/module.go")
	rename := func(force string) (string, error) {
		command := exec.Command(program, "git.example.org/team/cairn")
		command.Dir, command.Env = folder, append(os.Environ(), "FORCE="+force)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if out, err := rename(""); err == nil || !strings.Contains(out, "set FORCE=1") {
		t.Errorf("a dirty tree: %v, %s", err, out)
	}
	if out, err := rename("1"); err != nil || !strings.Contains(out, "renamed module cairn") {
		t.Errorf("with FORCE=1: %v, %s", err, out)
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
