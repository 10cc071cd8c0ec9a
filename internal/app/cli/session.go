package cli

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// session is an open App and the servers it uses: the configured servers, those of a `cairn dev`
// in the same folder, or a development stack that this command starts, with a worker in this
// process.
type session struct {
	*app.App
	workspace access.Workspace
	stack     *devstack.Stack // nil if this command did not start servers
	attached  bool            // to the stack of a `cairn dev` on the same folder
	stopWork  func()
	awaited   []run.Ref // runs that ended while this command waited
}

// needs lists what a command requires.
type needs struct {
	temporal    bool
	make        bool   // create the workspace if it does not exist
	noWorkspace bool   // open no workspace
	gateway     bool   // the command serves also while Temporal does not respond
	listen      string // address of this command's gateway; empty for CAIRN_LISTEN
}

// load reads the configuration. Flags of this invocation override it.
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
	ownDatabase, err := s.findServers(ctx, &cfg, n, c.errs)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*session, error) {
		s.close()
		return nil, err
	}
	if ownDatabase {
		if _, err := store.Migrate(ctx, cfg.DatabaseURL); err != nil {
			return fail(err)
		}
	}
	if s.App, err = app.Open(ctx, cfg, c.logger(cfg)); err != nil {
		return fail(err)
	}
	if n.temporal && !n.gateway {
		if err := s.CheckTemporal(ctx); err != nil {
			return fail(err)
		}
	}
	if !n.noWorkspace {
		if s.workspace, err = s.Store.Workspace(ctx, cfg.Workspace, n.make); err != nil {
			return fail(err)
		}
	}
	if s.stack != nil && n.temporal {
		s.startWork(ctx)
	}
	return s, nil
}

// findServers sets the addresses in cfg and starts a development stack if needed. It reports whether
// the database belongs to a development stack, whose schema each command updates.
func (s *session) findServers(ctx context.Context, cfg *config.Config, n needs, progress io.Writer) (ownDatabase bool,
	err error) {
	if cfg.DatabaseURL != "" && (cfg.TemporalAddress != "" || !n.temporal) {
		return false, nil
	}
	ownDatabase = cfg.DatabaseURL == ""
	var found devstack.Addresses
	if found, s.attached = devstack.Running(cfg.Home); !s.attached {
		s.stack, err = devstack.Start(ctx, devstack.Options{Dir: cfg.Home, Log: progress,
			SearchAttributes: contract.SearchAttributes(), SkipTemporal: !n.temporal,
			Codec: codecEndpoint(*cfg, n.listen)})
		if err != nil {
			return ownDatabase, err
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
	return ownDatabase, nil
}

// startWork runs the workers in this process until the session is closed.
func (s *session) startWork(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	queues := app.Queues()
	if s.Config.Shell {
		queues = append(queues, contract.QueueSandbox)
	}
	working.Go(func() {
		if err := s.Work(ctx, queues); err != nil {
			s.Log.Error("worker failed", "error", err)
		}
	})
	s.stopWork = func() { cancel(); working.Wait() }
}

// settlePatience bounds how long a command that runs the workers waits for the workflows of its
// ended runs.
const settlePatience = 2 * time.Second

// settle waits until the workflows of the awaited runs have ended. A workflow ends shortly after its
// run; without a worker it would stay open until the next worker starts.
func (s *session) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	for _, ref := range s.awaited {
		var r run.Run
		err := s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) (err error) {
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
			s.Log.Debug("workflow left open for the next worker", "run", ref.Run, "error", err)
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
		_ = s.stack.Close() // its watchdog stops what Close could not
	}
}

// models describes the model in use.
func (s *session) models() string {
	if s.Config.Offline() {
		return "offline rules (for a real model, set CAIRN_MODEL and OPENAI_API_KEY)"
	}
	return s.Config.Model
}

func (c *cli) logger(cfg config.Config) *slog.Logger {
	return app.NewLogger(c.errs, cfg.LogLevel)
}
