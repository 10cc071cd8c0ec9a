package devtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/lab/devtest/testrun"
)

// module is the path of this module.
var module = func() string {
	type local struct{}
	root, _, _ := strings.Cut(reflect.TypeFor[local]().PkgPath(), "/internal/")
	return root
}()

// Program builds a main package of this module, "starter" or "worker", and returns the program's
// path. It builds once per `go test` run, across all test processes. The program is removed
// together with the servers.
func Program(t testing.TB, name string) string {
	t.Helper()
	Stack(t) // testservers removes the folder
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patience)
	defer cancel()
	program, err := build(ctx, testrun.This().Folder, name)
	if err != nil {
		t.Fatalf("build %s: %v", name, err)
	}
	return program
}

// build builds the main package in the folder name of this module, once for all processes that
// share folder. It omits the linker's debug information, which takes half of the build time.
func build(ctx context.Context, folder, name string) (string, error) {
	program := filepath.Join(folder, "program-"+path.Base(name))
	lock, err := waitLock(ctx, program+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	unfinished := program + ".part"
	flags := "-ldflags=-w -X " + module + "/internal/app.build=test"
	if output, err := exec.CommandContext(ctx, "go", "build", flags, "-o", unfinished,
		module+"/"+name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return program, os.Rename(unfinished, program)
}
