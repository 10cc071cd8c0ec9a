package chaos

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"cairn/internal/config"
	"cairn/internal/devstack"
	"cairn/internal/eval/audit"
	"cairn/internal/eval/workerproc"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/internal/host"
	"cairn/internal/llm/llmtest"
	"cairn/internal/store"
)

//go:embed audit.sql
var auditSQL string

// experiment is everything that is open while one runs.
type experiment struct {
	options   Options
	draw      *rand.Rand
	folder    string
	stack     *devstack.Stack
	model     *llmtest.Server
	host      *host.Host // the clients' side: accepts and starts
	audit     *audit.Audit
	workspace store.Workspace // where everything happens
	program   string          // the worker
	settings  []string        // the worker's
	workerLog *os.File
	worker    *workerproc.Supervisor
	result    Result
}

const (
	lease     = time.Second     // of model calls: a crash is noticed after it
	heartbeat = 2 * time.Second // of model activities: a dead worker is noticed after it
)

// open starts the servers in a folder of their own, which goes with close.
func open(ctx context.Context, o Options) (*experiment, error) {
	if os.Getenv("DATABASE_URL") != "" || os.Getenv("TEMPORAL_ADDRESS") != "" {
		return nil, fault.New(fault.Misconfigured, "the environment names servers, and this experiment crashes the servers that it uses",
			"unset DATABASE_URL and TEMPORAL_ADDRESS: it starts its own")
	}
	e := &experiment{options: o, draw: rand.New(rand.NewPCG(o.Seed, 0)), result: Result{Seed: o.Seed, Distillations: o.Distillations}}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *experiment) start(ctx context.Context) (err error) {
	// Short, for sockets; open to the account that runs Postgres for root.
	if e.folder, err = os.MkdirTemp("/tmp", "cairn-chaos-"); err != nil {
		return fmt.Errorf("make the experiment's folder: %w", err)
	}
	if err := os.Chmod(e.folder, 0o755); err != nil {
		return fmt.Errorf("make the experiment's folder: %w", err)
	}
	if e.program, err = workerproc.Built(ctx, e.options.Worker, e.folder); err != nil {
		return err
	}
	// Servers with lasting data: others lose what was committed when they crash.
	e.stack, err = devstack.Start(ctx, devstack.Options{Dir: filepath.Join(e.folder, "s"), Log: e.options.Log, SearchAttributes: flow.SearchAttributes()})
	if err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, e.stack.DatabaseURL()); err != nil {
		return err
	}
	if e.model, err = llmtest.Start(); err != nil {
		return err
	}
	script(e.model, e.options.Reply)
	if e.workerLog, err = os.Create(filepath.Join(e.folder, "worker.log")); err != nil {
		return fmt.Errorf("make the worker's log: %w", err)
	}
	if e.audit, err = audit.Open(ctx, e.stack.DatabaseURL(), auditSQL); err != nil {
		return err
	}
	return e.openClients(ctx)
}

// openClients opens the side that a gateway would be.
func (e *experiment) openClients(ctx context.Context) error {
	e.settings = []string{"SKILL_QUALITY=off", "SKILL_KEEP_VERSIONS=0", "DATABASE_URL=" + e.stack.DatabaseURL(), "TEMPORAL_ADDRESS=" + e.stack.TemporalAddress(), "TEMPORAL_NAMESPACE=" + e.stack.TemporalNamespace(),
		"OPENAI_BASE_URL=" + e.model.URL, "OPENAI_API_KEY=none", "CAIRN_MODEL=scripted", "CAIRN_HOME=" + e.folder, "CAIRN_LOG=error",
		"CAIRN_LLM_LEASE=" + lease.String(), "CAIRN_HEARTBEAT=" + heartbeat.String(), "CAIRN_STOP_TIMEOUT=2s", "CAIRN_SWEEP_EVERY=0s"}
	c, err := config.Load(append([]string{"CAIRN_CONFIG=" + os.DevNull}, e.settings...), nil)
	if err != nil {
		return err
	}
	// What the SDK says about servers that are down is what is wanted here.
	if e.host, err = host.Open(ctx, c, slog.New(slog.NewTextHandler(io.Discard, nil))); err != nil {
		return err
	}
	e.workspace, err = e.host.Store.Workspace(ctx, "chaos", true)
	return err
}

// close ends everything that start began and removes the folder.
func (e *experiment) close() error {
	if e.host != nil {
		e.host.Close()
	}
	if e.audit != nil {
		e.audit.Close()
	}
	if e.model != nil {
		e.model.Close()
	}
	var errs []error
	if e.stack != nil {
		errs = append(errs, e.stack.Close())
	}
	if e.workerLog != nil {
		errs = append(errs, e.workerLog.Close())
	}
	if e.folder != "" {
		errs = append(errs, os.RemoveAll(e.folder))
	}
	return errors.Join(errs...)
}

func (e *experiment) say(format string, args ...any) {
	fmt.Fprintf(e.options.Log, "chaos: "+format+"\n", args...)
}
