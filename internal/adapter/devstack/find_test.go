package devstack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/internal/domain/fault"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]version{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0)": {15, 18, 0},
		"17":                  {17, 0, 0},
		"0.8.0":               {0, 8, 0},
		"1.29.1, UI 2.42.1)":  {1, 29, 1},
		"no number to be had": {},
	} {
		if got := parseVersion(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	if (version{0, 7, 4}).atLeast(needVector) || !(version{0, 8, 0}).atLeast(needVector) ||
		!(version{1, 0, 0}).atLeast(needVector) {
		t.Error("pgvector 0.8.0 is the oldest that will do")
	}
}

// fakeServer installs programs that only print their version.
func fakeServer(t *testing.T, postgres, vector string) string {
	t.Helper()
	root := t.TempDir()
	bin, extension := filepath.Join(root, "bin"), filepath.Join(root, "share", "extension")
	for _, folder := range []string{bin, extension} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		filepath.Join(bin, "postgres"): "#!/bin/sh\necho 'postgres (PostgreSQL) " + postgres + "'\n",
		filepath.Join(bin, "initdb"):   "#!/bin/sh\n",
	}
	if vector != "" {
		files[filepath.Join(extension, "vector.control")] = "comment = 'x'\ndefault_version = '" + vector + "'\n"
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestInstalledServersAreJudged(t *testing.T) {
	for _, c := range []struct{ postgres, vector, problem string }{
		{"17.2", "0.8.1", ""},
		{"14.11", "0.8.1", "too old"},
		{"16.1", "", "no pgvector"},
		{"16.1", "0.6.0", "pgvector 0.6.0 is too old"},
	} {
		found := inspectServer(t.Context(), fakeServer(t, c.postgres, c.vector))
		if (c.problem == "") != (found.problem == "") || !strings.Contains(found.problem, c.problem) {
			t.Errorf("PostgreSQL %s with pgvector %q: problem %q, want %q", c.postgres, c.vector, found.problem,
				c.problem)
		}
	}
}

func TestUnsuitableGivenServerIsRefusedWithAHint(t *testing.T) {
	for words, has := range map[string]offer{
		"PostgreSQL 13.4": {postgres: version{13, 4, 0}},
		"not installed":   {postgres: version{16, 1, 0}},
		"pgvector 0.7.0":  {postgres: version{16, 1, 0}, vector: version{0, 7, 0}},
	} {
		var refused *fault.Error
		if err := has.problem(); !errors.As(err, &refused) || !strings.Contains(refused.Message, words) ||
			!strings.Contains(refused.Hint, "DATABASE_URL") {
			t.Errorf("%v: got %v", has, err)
		}
	}
}

// bare hides everything that is installed on this machine.
func bare(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CAIRN_CACHE", t.TempDir())
	t.Setenv("DEBIAN_KEYRING", "/nonexistent")
	folders, cache := serverFolders, systemCache
	serverFolders, systemCache = nil, t.TempDir()
	t.Cleanup(func() { serverFolders, systemCache = folders, cache })
}

func TestDoctorSaysWhatToDoOnABareMachine(t *testing.T) {
	bare(t)
	hints := map[string]string{}
	for _, found := range Doctor(t.Context(), t.TempDir()) {
		if found.Status == statusMissing {
			hints[found.Part] = found.Hint
		}
	}
	if !strings.Contains(hints["PostgreSQL"], "DATABASE_URL") || !strings.Contains(hints["PostgreSQL"], "pgvector") {
		t.Errorf("PostgreSQL: %q", hints["PostgreSQL"])
	}
	if !strings.Contains(hints["Temporal"], "TEMPORAL_ADDRESS") {
		t.Errorf("Temporal: %q", hints["Temporal"])
	}
}

func TestStartOnABareMachineSaysWhatToInstall(t *testing.T) {
	bare(t)
	var missing *fault.Error
	if _, err := Start(t.Context(), Options{SkipTemporal: true}); !errors.As(err, &missing) ||
		missing.Code != fault.Unavailable || !strings.Contains(missing.Hint, "pgvector") {
		t.Errorf("PostgreSQL: %v", err)
	}
	if _, err := Start(t.Context(), Options{SkipPostgres: true}); !errors.As(err, &missing) ||
		missing.Code != fault.Unavailable || !strings.Contains(missing.Hint, "TEMPORAL_ADDRESS") {
		t.Errorf("Temporal: %v", err)
	}
}

func TestCacheBuildsOnceAndOnlyWhole(t *testing.T) {
	t.Setenv("CAIRN_CACHE", t.TempDir())
	refusal := errors.New("refused")
	if _, err := BuildOnce(t.Context(), "thing", func(string) error { return refusal }); !errors.Is(err, refusal) {
		t.Fatalf("got %v", err)
	}
	if _, ok := cached("thing"); ok {
		t.Error("a failed build counts")
	}
	var builds atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			path, err := BuildOnce(t.Context(), "thing", func(folder string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(folder, "file"), nil, 0o600)
			})
			if err != nil || !exists(filepath.Join(path, "file")) {
				t.Errorf("got %q, %v", path, err)
			}
		})
	}
	group.Wait()
	if builds.Load() != 1 {
		t.Errorf("%d builds", builds.Load())
	}
}
