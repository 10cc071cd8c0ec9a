package soak

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

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
	options    Options
	talks      []talk
	workspaces []store.Workspace // one for each talk
	folder     string
	stack      *devstack.Stack
	model      *llmtest.Server
	host       *host.Host // the gateway's side: accepts messages and brings them to their conversations
	audit      *audit.Audit
	program    string   // the worker
	settings   []string // the worker's
	workerLog  *os.File
	worker     *workerproc.Supervisor
	result     Result
}

const (
	lease     = "1s" // of model calls: a crash is noticed after it
	heartbeat = "2s" // of model activities: a dead worker is noticed after it
)

// open starts the servers in a folder of their own, which goes with close.
func open(ctx context.Context, o Options, talks []talk) (*experiment, error) {
	if os.Getenv("DATABASE_URL") != "" || os.Getenv("TEMPORAL_ADDRESS") != "" {
		return nil, fault.New(fault.Misconfigured, "the environment names servers, and this experiment counts everything on the servers that it uses",
			"unset DATABASE_URL and TEMPORAL_ADDRESS: it starts its own")
	}
	e := &experiment{options: o, talks: talks, result: Result{Seed: o.Seed, Options: Did{Conversations: o.Conversations, Turns: o.Turns, Goal: o.Goal}}}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *experiment) start(ctx context.Context) (err error) {
	// Short, for sockets; open to the account that runs Postgres for root.
	if e.folder, err = os.MkdirTemp("/tmp", "cairn-soak-"); err != nil {
		return fmt.Errorf("make the experiment's folder: %w", err)
	}
	if err := os.Chmod(e.folder, 0o755); err != nil {
		return fmt.Errorf("make the experiment's folder: %w", err)
	}
	if e.program, err = workerproc.Built(ctx, e.options.Worker, e.folder); err != nil {
		return err
	}
	// A throw-away stack: only the worker is killed, so nothing needs to outlive a server.
	if e.stack, err = devstack.Start(ctx, devstack.Options{Log: e.options.Log, SearchAttributes: flow.SearchAttributes()}); err != nil {
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
	return e.openGateway(ctx)
}

// openGateway opens the side that accepts messages, and a workspace for each talk.
func (e *experiment) openGateway(ctx context.Context) error {
	e.settings = []string{"DATABASE_URL=" + e.stack.DatabaseURL(), "TEMPORAL_ADDRESS=" + e.stack.TemporalAddress(), "TEMPORAL_NAMESPACE=" + e.stack.TemporalNamespace(),
		"OPENAI_BASE_URL=" + e.model.URL, "OPENAI_API_KEY=none", "CAIRN_MODEL=scripted", "CAIRN_HOME=" + e.folder, "CAIRN_LOG=error",
		"CAIRN_LLM_LEASE=" + lease, "CAIRN_HEARTBEAT=" + heartbeat, "CAIRN_DATABASE_STEP=5s", "CAIRN_STOP_TIMEOUT=2s", "CAIRN_SWEEP_EVERY=0s"}
	c, err := config.Load(append([]string{"CAIRN_CONFIG=" + os.DevNull}, e.settings...), nil)
	if err != nil {
		return err
	}
	// What the SDK says about workers that are away is what is wanted here.
	if e.host, err = host.Open(ctx, c, slog.New(slog.NewTextHandler(io.Discard, nil))); err != nil {
		return err
	}
	e.workspaces = make([]store.Workspace, len(e.talks))
	for i, t := range e.talks {
		if e.workspaces[i], err = e.host.Store.Workspace(ctx, t.name, true); err != nil {
			return err
		}
		if err = e.host.Store.WithWorkspace(ctx, e.workspaces[i].ID, func(q store.Queries) error { return neverIdle(ctx, q) }); err != nil {
			return err
		}
	}
	return nil
}

// neverIdle keeps conversations from being read for long-term memory when they
// end: what is counted here is turns and reviews.
func neverIdle(ctx context.Context, q store.Queries) error {
	s, err := q.Settings(ctx)
	if err != nil {
		return err
	}
	s.Memory.IdleMinutes = 0
	return q.SetSettings(ctx, s)
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
	fmt.Fprintf(e.options.Log, "soak: "+format+"\n", args...)
}
