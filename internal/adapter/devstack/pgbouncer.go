package devstack

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"

	"cairn/internal/domain/fault"
)

// poolerName ends in a number that is raised when the result of prefix.sh changes.
const poolerName = "pgbouncer-trixie-1"

// PgBouncer returns a PgBouncer for tests: the one that is installed on this machine, else one in the
// cache, else one that is unpacked from Debian's packages into the cache, without root. It reports an
// installation to progress, which may be nil.
func PgBouncer(ctx context.Context, progress io.Writer) (program string, err error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	folder, ok := cached(poolerName)
	if !ok {
		if folder, err = installPooler(ctx, progress); err != nil {
			return "", err
		}
	}
	program = filepath.Join(folder, "usr/sbin/pgbouncer")
	if output, err := exec.CommandContext(ctx, program, "-V").CombinedOutput(); err != nil {
		return "", fault.Wrap(err, fault.Unavailable, "the PgBouncer in "+folder+" does not work: "+string(output),
			"delete that folder and try again")
	}
	return program, nil
}

// installPooler unpacks a PgBouncer into the cache.
func installPooler(ctx context.Context, progress io.Writer) (folder string, err error) {
	const hint = "run `apt-get install pgbouncer`, or correct this machine's apt sources"
	if problem := prefixProblem(ctx); problem != "" {
		return "", fault.New(fault.Unavailable, "PgBouncer is not installed ("+problem+")", hint)
	}
	return BuildOnce(ctx, poolerName, func(folder string) (err error) {
		done := newJournal(progress).task("installing PgBouncer", "about 10 s, once")
		defer func() { done(err) }()
		if _, err = run(ctx, prefixCommand(folder, "pgbouncer")); err != nil {
			return fault.Wrap(err, fault.Unavailable, "unpack PgBouncer from Debian's packages", hint)
		}
		return nil
	})
}
