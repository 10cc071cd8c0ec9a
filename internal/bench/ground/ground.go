// Package ground is what an experiment stands on whose worker is killed: a
// Postgres and a Temporal of its own, a scripted model, the side of a gateway,
// an audit, and the worker's program with what it says.
//
//	g, err := ground.Open(ctx, ground.Options{Name: "soak", Queries: auditSQL, Log: os.Stderr})
//	…
//	worker := g.Supervise()
//	go worker.KillEvery(ctx, 10*time.Second, 60)
//	…
//	worker.Stop()
//	err = g.Close()
//
// Nothing that the environment names is used.
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
	"cairn/internal/adapter/openai/openaitest"
	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/bench/audit"
	"cairn/internal/bench/workerproc"
	"cairn/internal/domain/contract"
)

// Options say what an experiment needs.
type Options struct {
	Name     string    // of the experiment, before each line that it says
	Does     string    // to its servers, for whoever offers it others: "counts everything on"
	Lasting  bool      // servers with lasting data: others lose what was committed when they crash
	Queries  string    // of the audit
	Settings []string  // of the worker and the gateway's side, beside those that every experiment has
	Worker   string    // the worker's program; "" builds it
	Log      io.Writer // progress for people
}

// Ground is everything that is open while an experiment runs.
type Ground struct {
	Folder string // of its own, which goes with Close
	Stack  *devstack.Stack
	Model  *openaitest.Server
	App    *app.App // the gateway's side: accepts, and starts workflows
	Audit  *audit.Audit

	options   Options
	program   string
	settings  []string
	workerLog *os.File
}

// Of model calls and of model activities: a crash, and a dead worker, is noticed
// after it.
const lease, heartbeat = "1s", "2s"

// Open starts the servers. What was started before something failed is ended.
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
	if g.program, err = workerproc.Built(ctx, g.options.Worker, g.Folder); err != nil {
		return err
	}
	stack := devstack.Options{Log: g.options.Log, SearchAttributes: contract.SearchAttributes()}
	if g.options.Lasting {
		stack.Dir = filepath.Join(g.Folder, "s")
	}
	if g.Stack, err = devstack.Start(ctx, stack); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, g.Stack.DatabaseURL()); err != nil {
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

// Supervise starts the worker, and again whenever it has ended, until it is stopped.
func (g *Ground) Supervise() *workerproc.Supervisor {
	return workerproc.Supervise(g.program, g.settings, g.workerLog)
}

// Say tells people how far it is.
func (g *Ground) Say(format string, args ...any) {
	fmt.Fprintf(g.options.Log, g.options.Name+": "+format+"\n", args...)
}

// Close ends everything that Open began and removes the folder.
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
