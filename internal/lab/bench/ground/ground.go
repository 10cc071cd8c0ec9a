// Package ground provides what experiments need that kill their worker: their own Postgres
// and Temporal, a scripted model, the gateway's side of Cairn, an audit, and the worker binary
// with its log.
//
//	g, err := ground.Open(ctx, ground.Options{Name: "soak", Queries: auditSQL, Log: os.Stderr})
//	…
//	worker := g.Supervise()
//	go worker.KillEvery(ctx, 10*time.Second, 60)
//	…
//	worker.Stop()
//	err = g.Close()
//
// It does not use servers that the environment names.
package ground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/audit"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
)

// Options configures the resources of an experiment.
type Options struct {
	Name     string    // name of the experiment, a prefix of its progress messages
	Does     string    // what the experiment does to its servers, for an error message: "counts everything on"
	Lasting  bool      // persistent servers; others lose committed data in a crash
	Queries  string    // queries of the audit
	Settings []string  // additional settings of the worker and the gateway's side
	Worker   string    // path of the worker binary; "" builds it
	Log      io.Writer // progress messages
}

// Ground holds the open resources of an experiment.
type Ground struct {
	Folder string // its own folder, which Close removes
	Stack  *devstack.Stack
	Model  *openaitest.Server
	App    *app.App // the gateway's side: accepts requests and starts workflows
	Audit  *audit.Audit

	options   Options
	program   string
	settings  []string
	workerLog *os.File
}

// lease of model calls and heartbeat of model activities: the times after which a crash or a
// dead worker is detected.
const lease, heartbeat = "1s", "2s"

// Open starts the servers. If it fails, it stops those that it has started.
func Open(ctx context.Context, o Options) (*Ground, error) {
	if err := OwnServers("experiment " + o.Does + " the servers that it uses"); err != nil {
		return nil, err
	}
	g := &Ground{options: o}
	if err := g.start(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Ground) start(ctx context.Context) (err error) {
	if g.Folder, err = Folder(g.options.Name); err != nil {
		return err
	}
	if g.program, err = Build(ctx, Supervised, g.options.Worker, g.Folder); err != nil {
		return err
	}
	stack := devstack.Options{Log: g.options.Log, SearchAttributes: contract.SearchAttributes()}
	if g.options.Lasting {
		stack.Dir = filepath.Join(g.Folder, "s")
	}
	if g.Stack, err = devstack.Start(ctx, stack); err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, g.Stack.DatabaseURL()); err != nil {
		return err
	}
	if g.Model, err = openaitest.Start(); err != nil {
		return err
	}
	if g.workerLog, err = os.Create(filepath.Join(g.Folder, "worker.log")); err != nil {
		return fmt.Errorf("make the worker's log: %w", err)
	}
	if g.Audit, err = audit.Open(ctx, g.Stack.DatabaseURL(), g.options.Queries); err != nil {
		return err
	}
	at := Servers{g.Stack.DatabaseURL(), g.Stack.TemporalAddress(), g.Stack.TemporalNamespace(), g.Folder}
	g.settings = slices.Concat(at.Settings(Scripted(g.Model.URL)...),
		[]string{"CAIRN_LLM_LEASE=" + lease, "CAIRN_HEARTBEAT=" + heartbeat}, g.options.Settings)
	g.App, err = OpenApp(ctx, g.settings)
	return err
}

// Supervise starts the worker and restarts it after each exit, until it is stopped.
func (g *Ground) Supervise() *Supervisor {
	return Supervise(g.program, g.settings, g.workerLog)
}

// SuperviseProgram is Supervise for another program, with further settings and arguments.
func (g *Ground) SuperviseProgram(program string, more []string, arguments ...string) *Supervisor {
	return Supervise(program, slices.Concat(g.settings, more), g.workerLog, arguments...)
}

// Say writes a progress message.
func (g *Ground) Say(format string, args ...any) {
	fmt.Fprintf(g.options.Log, g.options.Name+": "+format+"\n", args...)
}

// Close stops everything that Open started and removes the folder.
func (g *Ground) Close() error {
	if g.App != nil {
		g.App.Close()
	}
	if g.Audit != nil {
		g.Audit.Close()
	}
	if g.Model != nil {
		g.Model.Close()
	}
	errs := CloseStacks(g.Stack)
	if g.workerLog != nil {
		errs = append(errs, g.workerLog.Close())
	}
	if g.Folder != "" {
		errs = append(errs, os.RemoveAll(g.Folder))
	}
	return errors.Join(errs...)
}
