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

// findServer returns a PostgreSQL that who can run: one installed on the machine, else one in the
// cache, else a new one in the cache. major is the version that the existing data needs, 0 if no
// data exists.
func findServer(ctx context.Context, who account, major int, log *journal) (server, error) {
	installed, chosen := chooseServer(ctx, who, major)
	if chosen >= 0 {
		return installed[chosen], nil
	}
	if major == 0 || major == prefixMajor {
		if found, ok := cachedPrefix(ctx, who); ok {
			return found, nil
		}
		problem := prefixProblem(ctx)
		if problem == "" {
			return installPrefix(ctx, who, log)
		}
		installed = append(installed, server{bin: "packages", problem: problem})
	}
	reasons := make([]string, len(installed))
	for i, s := range installed {
		reasons[i] = s.bin + ": " + s.problem
	}
	message := "no usable PostgreSQL found"
	if major != 0 {
		message = fmt.Sprintf("the data was created by PostgreSQL %d, and that version is not installed", major)
	}
	if len(reasons) > 0 {
		message += " (" + strings.Join(reasons, "; ") + ")"
	}
	return server{}, fault.New(fault.Unavailable, message, installHint)
}

// chooseServer lists the installed servers and the index of the one that who should run for data of
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

// localServers lists the installed servers, usable ones first, newest first.
func localServers(ctx context.Context) []server {
	var folders []string
	add := func(program string) {
		if resolved, err := filepath.EvalSymlinks(program); err == nil &&
			!slices.Contains(folders, filepath.Dir(resolved)) {
			folders = append(folders, filepath.Dir(resolved))
		}
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		add(program)
	}
	for _, pattern := range serverFolders {
		matches, _ := filepath.Glob(filepath.Join(pattern, "postgres"))
		for _, program := range matches {
			add(program)
		}
	}
	servers := make([]server, 0, len(folders))
	for _, folder := range folders {
		servers = append(servers, inspectServer(ctx, folder))
	}
	slices.SortStableFunc(servers, func(a, b server) int {
		if (a.problem == "") != (b.problem == "") {
			if a.problem == "" {
				return -1
			}
			return 1
		}
		return b.postgres.major - a.postgres.major
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
