package devstack

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

//go:embed prefix.sh
var prefixScript string

// The packages to unpack are those of the newest stable Debian whose pgvector is new enough.
const (
	prefixSuite = "trixie"
	prefixMajor = 17
	// prefixName ends in a number that is raised when the result of prefix.sh changes.
	prefixName = "postgres-17-trixie-1"
	// installPatience is the time that an interrupted installation has to stop.
	installPatience = 500 * time.Millisecond
)

// installPrefix unpacks a PostgreSQL with pgvector into the cache.
func installPrefix(ctx context.Context, who account, log *journal) (server, error) {
	folder, err := buildOnce(ctx, prefixName, log, func(folder string) (err error) {
		done := log.task("installing PostgreSQL 17 with pgvector (40 MB)", "from Debian's packages, about 10 s, once")
		defer func() { done(err) }()
		_, err = run(ctx, prefixCommand(folder, fmt.Sprint(prefixMajor)))
		if err != nil {
			return fault.Wrap(err, fault.Unavailable, "unpack PostgreSQL from Debian's packages",
				"check the network and this machine's apt sources, or "+installHint)
		}
		return nil
	})
	if err != nil {
		return server{}, err
	}
	found := inspectServer(ctx, prefixBin(folder))
	return found, found.usableBy(who)
}

// pipName is the folder of Debian's pip in the cache. It ends in a number that is raised when the result of prefix.sh
// changes.
const pipName = "pip-trixie-1"

// debianPip returns the pip of Debian's packages, for machines without one.
func debianPip(ctx context.Context, log *journal) (installer, error) {
	if _, ok := cached(pipName); !ok {
		if problem := prefixProblem(ctx); problem != "" {
			return installer{}, fault.New(fault.Unavailable, "neither pip nor uv is installed, and "+problem,
				"install pip or uv")
		}
	}
	folder, err := buildOnce(ctx, pipName, log, func(folder string) (err error) {
		done := log.task("installing pip (10 MB)", "from Debian's packages, about 10 s, once")
		defer func() { done(err) }()
		if _, err = run(ctx, prefixCommand(folder, "pip")); err != nil {
			return fault.Wrap(err, fault.Unavailable, "unpack pip from Debian's packages",
				"check the network and this machine's apt sources, or install pip or uv")
		}
		return nil
	})
	pip := installers[len(installers)-1]
	return installer{"pip of Debian", append([]string{filepath.Join(folder, "usr/bin/python3")}, pip.args[1:]...)}, err
}

// prefixProblem returns the reason why the packages cannot be used on this machine, or "" if they
// can.
func prefixProblem(ctx context.Context) string {
	probe := prefixCommand("/nonexistent", fmt.Sprint(prefixMajor))
	probe.args = append(probe.args, "check")
	output, err := run(ctx, probe)
	if err == nil {
		return ""
	}
	if text := strings.TrimSpace(output); text != "" {
		return text
	}
	return err.Error()
}

// prefixCommand unpacks a major version of PostgreSQL, pgbouncer or pip into a folder.
func prefixCommand(folder, what string) command {
	return command{
		name: "installation of Debian packages",
		args: []string{"/bin/sh", "-c", prefixScript, "prefix.sh", folder, prefixSuite, what},
		env:  os.Environ(), dir: "/", account: self(),
		gentle: "TERM", patience: installPatience, hard: "KILL", remove: folder,
	}
}

func prefixBin(folder string) string {
	return filepath.Join(folder, "usr/lib/postgresql", fmt.Sprint(prefixMajor), "bin")
}
