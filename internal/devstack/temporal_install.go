package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/fault"
)

// The Temporal command: the newest release that installs through the module
// proxy; later ones have a replace line in their go.mod.
const (
	temporalModule  = "github.com/temporalio/cli/cmd/temporal"
	temporalRelease = "v1.5.1"
	temporalName    = "temporal-" + temporalRelease
)

// temporalCommand is an installed `temporal` program.
type temporalCommand struct {
	path    string
	server  version // of the server inside
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
		if _, err := run(ctx, buildTemporal(folder)); err != nil {
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

func buildTemporal(folder string) command {
	// The settings of the calling build are not for this one.
	environment := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GOFLAGS", "GOOS", "GOARCH", "GOBIN", "GOWORK"}, name)
	})
	return command{
		name: "go install " + temporalModule,
		args: []string{"go", "install", "-ldflags=-s -w", temporalModule + "@" + temporalRelease},
		env:  append(environment, "GOBIN="+folder, "GOWORK=off"), dir: folder, account: self(),
		gentle: "TERM", patience: installPatience, hard: "KILL", remove: folder,
	}
}
