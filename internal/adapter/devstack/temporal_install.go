package devstack

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// The Temporal command: the newest release that builds through the module proxy;
// later ones have a replace line in their go.mod. It is built with a newer SQLite
// than its own go.mod names: with those before sqliteSound, a request that its caller
// gives up can break the connection for all that follow ("Error interrupted (9)").
const (
	temporalModule  = "github.com/temporalio/cli"
	temporalProgram = temporalModule + "/cmd/temporal"
	temporalRelease = "v1.5.1"
	sqliteModule    = "modernc.org/sqlite"
	sqliteSound     = "v1.51.0"
	sqliteRelease   = "v1.60.1" // takes a twentieth less of the processor than v1.51.0
	temporalName    = "temporal-" + temporalRelease + "-sqlite-" + sqliteRelease
)

// temporalCommand is an installed `temporal` program.
type temporalCommand struct {
	path    string
	server  version // of the server inside
	sqlite  string  // what keeps its state: "v1.60.1", "" when the program does not tell
	problem string  // why it will not do, "" when it will
}

// findTemporal gives the program on PATH, else the one in the cache, else
// builds it into the cache.
func findTemporal(ctx context.Context, log *journal) (string, error) {
	if found, ok := localTemporal(ctx); ok && found.problem == "" {
		return found.path, nil
	}
	folder, err := keep(ctx, temporalName, func(folder string) (err error) {
		if _, err := exec.LookPath("go"); err != nil {
			return fault.Wrap(err, fault.Unavailable, "no Temporal server to run and no Go to build one",
				"put Go or the temporal command on PATH, or set TEMPORAL_ADDRESS")
		}
		done := log.task("building the Temporal development server", "2 to 5 minutes, once")
		defer func() { done(err) }()
		if err = os.WriteFile(filepath.Join(folder, "go.mod"), []byte(temporalBuild), 0o644); err != nil {
			return fmt.Errorf("build the Temporal development server: %w", err)
		}
		if _, err = run(ctx, buildTemporal(folder)); err != nil {
			return fault.Wrap(err, fault.Unavailable, "build the Temporal development server",
				"check the network and GOPROXY, or put the temporal command on PATH, or set TEMPORAL_ADDRESS")
		}
		return nil
	})
	return filepath.Join(folder, "temporal"), err
}

// localTemporal finds the program without building it.
func localTemporal(ctx context.Context) (temporalCommand, bool) {
	var found temporalCommand
	if path, err := exec.LookPath("temporal"); err == nil {
		if found = inspectTemporal(ctx, path); found.problem == "" {
			return found, true
		}
	}
	if folder, ok := cached(temporalName); ok {
		return inspectTemporal(ctx, filepath.Join(folder, "temporal")), true
	}
	return found, found.path != ""
}

// inspectTemporal reads the version of the server in a temporal command:
// "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)".
func inspectTemporal(ctx context.Context, path string) temporalCommand {
	found := temporalCommand{path: path}
	output, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	found.sqlite = sqliteOf(path)
	_, server, named := strings.Cut(string(output), "Server ")
	switch {
	case err != nil || !named:
		found.problem = path + " is not the temporal command: " + tail(string(output), 200)
	default:
		found.server = parseVersion(server)
		if !found.server.atLeast(needTemporal) {
			found.problem = fmt.Sprintf("its server %s is too old, %s is needed", found.server, needTemporal)
		}
	}
	return found
}

// sqliteOf reads the release of SQLite out of a program.
func sqliteOf(path string) string {
	built, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, module := range built.Deps {
		if module.Path == sqliteModule {
			return module.Version
		}
	}
	return ""
}

// fragile says what is to be known of a program that may break a connection to its
// state for good, "" when it is sound or does not tell.
func (c temporalCommand) fragile() string {
	if c.sqlite == "" || parseVersion(c.sqlite).atLeast(parseVersion(sqliteSound)) {
		return ""
	}
	return fmt.Sprintf("its SQLite %s is older than %s: it may answer \"Error interrupted (9)\" for good after a "+
		"request that was given up; "+
		"restart it then, or take it off PATH and Cairn builds its own", c.sqlite, sqliteSound)
}

// buildTemporal compiles the program in a module of its own, which folder gets: it
// asks for the newer SQLite.
func buildTemporal(folder string) command {
	// The settings of the calling build are not for this one.
	environment := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GOFLAGS", "GOOS", "GOARCH", "GOBIN", "GOWORK"}, name)
	})
	version := "-X " + temporalModule + "/temporalcli.Version=" + strings.TrimPrefix(temporalRelease, "v")
	return command{
		name: "go build " + temporalProgram,
		args: []string{"go", "build", "-mod=mod", "-ldflags=-s -w " + version, "-o", "temporal", temporalProgram},
		env:  append(environment, "GOWORK=off"), dir: folder, account: self(),
		gentle: "TERM", patience: installPatience, hard: "KILL", remove: folder,
	}
}

// temporalBuild is the go.mod of that module.
const temporalBuild = "module build\n\ngo 1.26\n\nrequire (\n\t" + temporalModule + " " + temporalRelease + "\n\t" +
	sqliteModule + " " + sqliteRelease + "\n)\n"
