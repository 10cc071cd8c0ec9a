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

// cachedPrefix finds an unpacked PostgreSQL in the cache that the account can run.
func cachedPrefix(ctx context.Context, who account) (server, bool) {
	folder, ok := cached(prefixName)
	if !ok {
		return server{}, false
	}
	found := inspectServer(ctx, prefixBin(folder))
	return found, found.problem == "" && who.can("-x", found.program("postgres"))
}

// installPrefix unpacks a PostgreSQL with pgvector into the cache.
func installPrefix(ctx context.Context, who account, log *journal) (server, error) {
	folder, err := BuildOnce(ctx, prefixName, func(folder string) (err error) {
		done := log.task("installing PostgreSQL 17 with pgvector", "about 10 s, once")
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
	if found.problem != "" {
		return server{}, fault.New(fault.Unavailable, "the PostgreSQL in "+folder+" does not work: "+found.problem,
			"delete that folder and try again")
	}
	if !who.can("-x", found.program("postgres")) {
		return server{}, fault.New(fault.Misconfigured,
			fmt.Sprintf("the account %s, which runs PostgreSQL, cannot run %s", who.name, found.program("postgres")),
			"set CAIRN_CACHE to a folder that everybody can enter")
	}
	return found, nil
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

// prefixCommand unpacks a major version of PostgreSQL, or pgbouncer, into a folder.
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
