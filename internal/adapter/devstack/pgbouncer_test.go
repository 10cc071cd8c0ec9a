package devstack

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// ownCache uses an empty cache for this test.
func ownCache(t *testing.T) {
	t.Helper()
	system := systemCache
	systemCache = filepath.Join(t.TempDir(), "none")
	t.Cleanup(func() { systemCache = system })
	t.Setenv("CAIRN_CACHE", filepath.Join(t.TempDir(), "cache"))
}

func TestPgBouncerIsUnpackedOnce(t *testing.T) {
	testkit.Long(t)
	ownCache(t)
	if problem := prefixProblem(t.Context()); problem != "" {
		t.Skipf("SKIPPED, Debian's packages cannot be used here: %s", problem)
	}
	var progress bytes.Buffer
	for range 2 {
		folder, err := installPooler(t.Context(), &progress)
		testkit.Must(t, err)
		output, err := exec.Command(filepath.Join(folder, "usr/sbin/pgbouncer"), "-V").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(output), "PgBouncer ") {
			t.Fatalf("%v: %s", err, output)
		}
	}
	if n := strings.Count(progress.String(), "installing PgBouncer"); n < 1 || n > 2 {
		t.Errorf("reported %q", progress.String())
	}
}

func TestPgBouncerThatCannotBeInstalledSaysWhy(t *testing.T) {
	ownCache(t)
	t.Setenv("DEBIAN_KEYRING", filepath.Join(t.TempDir(), "missing.gpg"))
	f := fault.From(func() error { _, err := installPooler(t.Context(), nil); return err }())
	if f == nil || f.Code != fault.Unavailable || !strings.Contains(f.Hint, "apt-get install pgbouncer") {
		t.Errorf("%+v", f)
	}
}
