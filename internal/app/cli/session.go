package cli

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"cairn/internal/adapter/devstack"
	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/tenancy"
)

// session is an open App with the servers under it: those that are configured,
// those of a `cairn dev` that runs on the same folder, or a development stack of
// this command's own, with a worker in this process.
type session struct {
	*app.App
	workspace tenancy.Workspace
	stack     *devstack.Stack // nil when the servers are not ours
	attached  bool            // to the stack of a `cairn dev` on the same folder
	stopWork  func()
	awaited   []run.Ref // runs that ended while this command waited
}

// needs says what a command works with.
type needs struct {
	temporal bool
	make     bool   // make the workspace when it is not there
	listen   string // where this command's gateway listens; empty for CAIRN_LISTEN
}

// load reads the settings, this invocation's flags last.
func (c *cli) load(overrides map[string]string) (config.Config, error) {
	all := map[string]string{}
	if c.workspace != "" {
		all["CAIRN_WORKSPACE"] = c.workspace
	}
	if c.home != "" {
		all["CAIRN_HOME"] = c.home
	}
	for k, v := range overrides {
		all[k] = v
	}
	cfg, err := config.Load(c.environ, all)
	if err != nil {
		return cfg, err
	}
	cfg.Home, err = filepath.Abs(cfg.Home)
	return cfg, err
}

// open finds or starts the servers and opens the workspace.
func (c *cli) open(ctx context.Context, n needs) (*session, error) {
	cfg, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	s := &session{}
	ours, err := s.findServers(ctx, &cfg, n, c.errs)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*session, error) {
		s.close()
		return nil, err
	}
	if ours {
		if _, err := postgres.Migrate(ctx, cfg.DatabaseURL); err != nil {
			return fail(err)
		}
	}
	if s.App, err = app.Open(ctx, cfg, c.logger(cfg)); err != nil {
		return fail(err)
	}
	if s.workspace, err = s.Store.Workspace(ctx, cfg.Workspace, n.make); err != nil {
		return fail(err)
	}
	if s.stack != nil && n.temporal {
		s.startWork(ctx)
	}
	return s, nil
}

// findServers fills in the addresses. It returns true when the database belongs
// to a development stack, whose schema commands keep up to date by themselves.
func (s *session) findServers(ctx context.Context, cfg *config.Config, n needs, progress io.Writer) (ours bool,
	err error) {
	if cfg.DatabaseURL != "" && (cfg.TemporalAddress != "" || !n.temporal) {
		return false, nil
	}
	ours = cfg.DatabaseURL == ""
	var found devstack.Addresses
	if found, s.attached = devstack.Running(cfg.Home); !s.attached {
		s.stack, err = devstack.Start(ctx, devstack.Options{Dir: cfg.Home, Log: progress,
			SearchAttributes: contract.SearchAttributes(), SkipTemporal: !n.temporal,
			Codec: codecEndpoint(*cfg, n.listen)})
		if err != nil {
			return ours, err
		}
		found = devstack.Addresses{DatabaseURL: s.stack.DatabaseURL(), TemporalAddress: s.stack.TemporalAddress(),
			TemporalNamespace: s.stack.TemporalNamespace(), TemporalUI: s.stack.TemporalUI()}
	}
	if cfg.DatabaseURL == "" {
		cfg.DatabaseURL = found.DatabaseURL
	}
	if cfg.TemporalAddress == "" {
		cfg.TemporalAddress, cfg.TemporalNamespace, cfg.TemporalUI = found.TemporalAddress, found.TemporalNamespace,
			found.TemporalUI
	}
	return ours, nil
}

// startWork hosts the workers in this process until the session is closed.
func (s *session) startWork(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	queues := app.Queues()
	if s.Config.Shell {
		queues = append(queues, contract.QueueSandbox)
	}
	working.Go(func() {
		if err := s.Work(ctx, queues); err != nil {
			s.Log.Error("worker", "error", err)
		}
	})
	s.stopWork = func() { cancel(); working.Wait() }
}

// settlePatience bounds how long a command that hosts the workers itself lets the
// workflows of what it has waited for come to their end.
const settlePatience = 2 * time.Second

// settle waits until the workflows of runs have ended, too, which is a moment after
// the runs: without a worker they would stand open until there is one again.
func (s *session) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	for _, ref := range s.awaited {
		var r run.Run
		err := s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q postgres.Tx) (err error) {
			r, err = q.Runs().Run(ctx, ref.Run)
			return err
		})
		if err != nil {
			return
		}
		if r.Kind == run.Turn {
			_, err = s.Driver.Answer(ctx, s.workspace.Key, r)
		} else {
			err = s.Temporal.GetWorkflow(ctx, r.WorkflowID, "").Get(ctx, nil)
		}
		if err != nil {
			s.Log.Debug("a workflow ends with the next worker", "run", ref.Run, "error", err)
		}
	}
}

func (s *session) close() {
	if s.stopWork != nil {
		s.settle()
		s.stopWork()
	}
	if s.App != nil {
		s.App.Close()
	}
	if s.stack != nil {
		_ = s.stack.Close() // what it could not stop, its watchdog will
	}
}

// models says which models answer, for every command that uses them.
func (s *session) models() string {
	if s.Config.Offline() {
		return "offline rules (no model endpoint is set; see README, \"With a real model\")"
	}
	return s.Config.Model
}

func (c *cli) logger(cfg config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.errs, &slog.HandlerOptions{Level: app.Level(cfg.LogLevel)}))
}
