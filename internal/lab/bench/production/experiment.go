package production

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/audit"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/openaitest"
)

//go:embed audit.sql
var auditSQL string

const (
	database = "cairn"
	login    = "cairn" // of gateways and workers, as docs/operations/deploy.md creates it
	poolSize = 12      // server connections of PgBouncer
	gateways = 2
	workers  = 2
)

// experiment holds the open resources of a run of the experiment.
type experiment struct {
	options       Options
	folder        string
	root          string // of the module
	worker, cairn string // programs
	temporal      *devstack.Stack
	primary       *devstack.PostgresServer
	servers       []*devstack.PostgresServer // all that were started
	pooler        *devstack.Pooler
	poolerLog     output
	model         *openaitest.Server

	mu        sync.Mutex
	processes []*process
	result    Result
}

// open starts the servers, and creates the database as docs/operations/deploy.md describes.
func open(ctx context.Context, o Options) (*experiment, error) {
	if err := ground.OwnServers("experiment crashes the servers that it uses"); err != nil {
		return nil, err
	}
	e := &experiment{options: o}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *experiment) start(ctx context.Context) (err error) {
	if e.folder, err = ground.Folder("production"); err != nil {
		return err
	}
	if e.root, err = RepositoryRoot(ctx); err != nil {
		return err
	}
	e.say("building the programs")
	if e.worker, err = ground.Build(ctx, ground.Supervised, e.options.Worker, e.folder); err != nil {
		return err
	}
	if e.cairn, err = ground.Build(ctx, ground.Cairn, e.options.Cairn, e.folder); err != nil {
		return err
	}
	e.say("starting Temporal, Postgres and PgBouncer")
	if e.temporal, err = devstack.Start(ctx, devstack.Options{Dir: filepath.Join(e.folder, "s"), SkipPostgres: true,
		Log: e.options.Log, SearchAttributes: contract.SearchAttributes()}); err != nil {
		return err
	}
	if e.model, err = openaitest.Start(); err != nil {
		return err
	}
	script(e.model)
	if err := e.startDatabase(ctx); err != nil {
		return err
	}
	if err := e.describe(ctx); err != nil {
		return err
	}
	// PgBouncer fails fast, as docs/operations/poolers.md recommends.
	e.pooler, err = devstack.StartPooler(ctx, devstack.PoolerOptions{Folder: filepath.Join(e.folder, "pooler"),
		Server: e.primary.Address(), Logins: map[string]string{login: "", inheriting: ""}, Size: poolSize,
		Settings: []string{"server_login_retry = 1", "server_connect_timeout = 3", "query_wait_timeout = 5"},
		Log:      &e.poolerLog})
	return err
}

// describe adds the versions of the servers to the result.
func (e *experiment) describe(ctx context.Context) error {
	a, err := e.audit(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	var postgres string
	if err := a.QueryRow(ctx, "select current_setting('server_version')").Scan(&postgres); err != nil {
		return fmt.Errorf("read the version of Postgres: %w", err)
	}
	program, err := devstack.PgBouncer(ctx, e.options.Log)
	if err != nil {
		return err
	}
	pooler, err := exec.CommandContext(ctx, program, "-V").Output()
	if err != nil {
		return fmt.Errorf("read the version of PgBouncer: %w", err)
	}
	first, _, _ := strings.Cut(string(pooler), "\n")
	e.result.Servers = []string{"Postgres " + postgres, first}
	for _, found := range e.temporal.Describe() {
		if found.Part == "Temporal" {
			e.result.Servers = append(e.result.Servers, "Temporal "+found.Version)
		}
	}
	return nil
}

// startDatabase starts the primary, migrates it and creates the login.
func (e *experiment) startDatabase(ctx context.Context) (err error) {
	if e.primary, err = e.startServer(ctx, "db-a", nil); err != nil {
		return err
	}
	if err := e.primary.Execute(ctx, "postgres", "create database "+database); err != nil {
		return err
	}
	if _, err := e.command(ctx, []string{"DATABASE_URL=" + e.admin()}, "migrate"); err != nil {
		return err
	}
	return e.primary.Execute(ctx, database, "create role "+login+
		" login noinherit nosuperuser nocreatedb nocreaterole nobypassrls in role cairn_app, cairn_system")
}

// startServer starts a Postgres, which follows another one if copied is set.
func (e *experiment) startServer(ctx context.Context, name string, copied *devstack.PostgresServer) (
	*devstack.PostgresServer, error) {
	s, err := devstack.StartServer(ctx, devstack.ServerOptions{Folder: filepath.Join(e.folder, name), Copy: copied,
		// Servers crash here, and the machine does not.
		Settings: []string{"fsync=off", "max_connections=100", "superuser_reserved_connections=3"}})
	if err != nil {
		return nil, err
	}
	e.servers = append(e.servers, s)
	return s, nil
}

// admin returns the address of the database for the superuser.
func (e *experiment) admin() string { return e.primary.URL("postgres", database) }

// base returns the settings of all processes. Later settings take precedence.
func (e *experiment) base() []string {
	at := ground.Servers{Database: e.primary.URL(login, database), Temporal: e.temporal.TemporalAddress(),
		Namespace: e.temporal.TemporalNamespace(), Folder: e.folder}
	return slices.Concat(at.Settings(ground.Scripted(e.model.URL)...), []string{"CAIRN_LLM_LEASE=5s",
		"CAIRN_HEARTBEAT=5s", "CAIRN_DATABASE_STEP=5s", "CAIRN_STOP_TIMEOUT=10s", "SKILL_QUALITY=off",
		"SKILLS_LOCAL_DIR=" + e.packages(), "CAIRN_TRUSTED_PROXIES=127.0.0.0/8",
		"CAIRN_DRAIN_DELAY=" + e.options.Drain.String()})
}

func (e *experiment) packages() string { return filepath.Join(e.folder, "packages") }

// pooled returns the settings of processes behind PgBouncer.
func (e *experiment) pooled() []string {
	return []string{"DATABASE_URL=" + e.pooler.URL(login, database), "CAIRN_DATABASE_POOLER=transaction",
		"CAIRN_DATABASE_DIRECT_URL=" + e.primary.URL(login, database)}
}

// tenants creates the workspaces of a step, with an admin key each: p1w00, p1w01 and so on for step 1.
func (e *experiment) tenants(ctx context.Context, step, n int) ([]tenant, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("p%dw%02d", step, i)
	}
	return e.createWorkspaces(ctx, names)
}

// createWorkspaces creates workspaces with an admin key each.
func (e *experiment) createWorkspaces(ctx context.Context, names []string) (out []tenant, err error) {
	h, err := ground.OpenApp(ctx, e.base())
	if err != nil {
		return nil, err
	}
	defer h.Close()
	for _, name := range names {
		t := tenant{name: name}
		if t.key, err = newKey(ctx, h, name); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func newKey(ctx context.Context, h *app.App, workspace string) (string, error) {
	ws, err := h.Store.Workspace(ctx, workspace, true)
	if err != nil {
		return "", err
	}
	key, _, err := h.Keys.Create(ctx, ws.ID, "production", []access.Scope{access.Read, access.Write, access.Admin})
	return key, err
}

// audit opens the database for counts over all rows.
func (e *experiment) audit(ctx context.Context) (*audit.Audit, error) {
	return audit.Open(ctx, e.admin(), auditSQL)
}

// say writes a progress message.
func (e *experiment) say(format string, args ...any) {
	fmt.Fprintf(e.options.Log, "production: "+format+"\n", args...)
}

// close stops everything that open started and removes the folder.
func (e *experiment) close() error {
	e.stopProcesses()
	if e.pooler != nil {
		e.pooler.Close()
	}
	var errs []error
	for _, s := range e.servers {
		errs = append(errs, s.Close())
	}
	if e.model != nil {
		e.model.Close()
	}
	errs = append(errs, ground.CloseStacks(e.temporal)...)
	if e.folder != "" {
		errs = append(errs, os.RemoveAll(e.folder))
	}
	return errors.Join(errs...)
}
