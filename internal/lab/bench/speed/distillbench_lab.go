package speed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
)

// distillLab holds the resources of all measurements.
type distillLab struct {
	options  DistillOptions
	folder   string
	program  string // path of the worker binary
	postgres *devstack.Stack
	model    *openaitest.Server
}

func distillOpenLab(ctx context.Context, o DistillOptions) (*distillLab, error) {
	if err := ground.OwnServers("bench compares servers of its own"); err != nil {
		return nil, err
	}
	l := &distillLab{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *distillLab) start(ctx context.Context) (err error) {
	if l.folder, err = ground.Folder("bench"); err != nil {
		return err
	}
	if l.program, err = ground.Build(ctx, ground.Supervised, "", l.folder); err != nil {
		return err
	}
	l.postgres, err = devstack.Start(ctx, devstack.Options{Dir: filepath.Join(l.folder, "pg"), Log: l.options.Log,
		SkipTemporal: true})
	if err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, l.postgres.DatabaseURL()); err != nil {
		return err
	}
	l.model, err = openaitest.Start()
	return err
}

func (l *distillLab) close() error {
	if l.model != nil {
		l.model.Close()
	}
	return errors.Join(append(ground.CloseStacks(l.postgres), os.RemoveAll(l.folder))...)
}

// bench is the lab with one Temporal server and a worker.
type bench struct {
	*distillLab
	temporal *devstack.Stack
	worker   *ground.Worker
	host     *app.App
	made     int // number of conversations so far, for unique names
}

// openBench starts a Temporal server with its state in memory or in a file.
func (l *distillLab) openBench(ctx context.Context, server string) (*bench, error) {
	b := &bench{distillLab: l}
	if err := b.start(ctx, server); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) start(ctx context.Context, server string) (err error) {
	o := devstack.Options{Log: b.options.Log, SearchAttributes: contract.SearchAttributes(), SkipPostgres: true}
	if server == InFile {
		o.Dir = filepath.Join(b.folder, "t")
	}
	if b.temporal, err = devstack.Start(ctx, o); err != nil {
		return err
	}
	at := ground.Servers{Database: b.postgres.DatabaseURL(), Temporal: b.temporal.TemporalAddress(),
		Namespace: b.temporal.TemporalNamespace(), Folder: b.folder}
	settings := append(at.Settings(ground.Scripted(b.model.URL)...), "SKILL_QUALITY=off")
	if b.host, err = ground.OpenApp(ctx, settings); err != nil {
		return err
	}
	b.worker, err = ground.StartWorker(b.program, settings, b.options.Log)
	return err
}

func (b *bench) close() error {
	if b.worker != nil {
		b.worker.Stop()
	}
	if b.host != nil {
		b.host.Close()
	}
	if b.temporal != nil {
		return b.temporal.Close()
	}
	return nil
}

// distil distills a conversation, from acceptance to the end of its workflow.
func (b *bench) distil(ctx context.Context, ws access.Workspace, c transcript.Conversation, tasks int) (run.Run,
	error) {
	r, _, err := b.host.Distill.Accept(ctx,
		distill.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: c, Channel: "chat",
			Spec: app.DistillSpec(b.host.Config, transcript.ExtractAuto)})
	if err != nil {
		return r, err
	}
	if err := b.host.Driver.Start(ctx, ws.Key, "chat", r); err != nil {
		return r, err
	}
	var p distillation.Progress
	err = b.host.Waiter.Await(ctx, r.Ref.Run, nil, func() (run.Status, error) {
		p, err = b.host.Distill.Progress(ctx, r.Ref)
		return p.Status, err
	})
	if err != nil {
		return r, fmt.Errorf("distil %s: %w", c.ID, err)
	}
	created := 0
	for _, t := range p.Tasks {
		if t.Outcome == distillation.Created {
			created++
		}
	}
	if p.Outcome != run.Completed || created != tasks {
		return r, fmt.Errorf("distil %s: %s with %d skills, want %d", c.ID, p.Outcome, created, tasks)
	}
	return r, nil
}

// next returns the number of the next conversation.
func (b *bench) next() int { b.made++; return b.made }
