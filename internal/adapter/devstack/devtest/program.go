package devtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// Program builds a main package of this module, such as "cairn/worker", and returns the program's
// path. It builds once per `go test` run, across all test processes. The program is removed
// together with the servers.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	Stack(t) // its holder removes the folder
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	program, err := build(ctx, thisRun().Folder, pkg)
	if err != nil {
		t.Fatalf("build %s: %v", pkg, err)
	}
	return program
}

// build omits the linker's debug information, which takes half of the build time.
func build(ctx context.Context, folder, pkg string) (string, error) {
	program := filepath.Join(folder, "program-"+path.Base(pkg))
	lock, err := waitLock(ctx, program+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	unfinished := program + ".part"
	if output, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w -X cairn/internal/app.build=test", "-o",
		unfinished, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return program, os.Rename(unfinished, program)
}
