package speed

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/store"
)

// turnLab holds the open resources of a measurement.
type turnLab struct {
	options  Options
	folder   string
	postgres *devstack.Stack
	temporal *devstack.Stack
	model    *turnModel
	host     *app.App // the gateway's side
	worker   *ground.Worker
	stopBare func()
}

func turnOpenLab(ctx context.Context, o Options) (*turnLab, error) {
	if err := ground.OwnServers("benchmark measures its own servers"); err != nil {
		return nil, err
	}
	l := &turnLab{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *turnLab) start(ctx context.Context) (err error) {
	if l.folder, err = ground.Folder("bench"); err != nil {
		return err
	}
	program, err := ground.Build(ctx, ground.Supervised, l.options.Worker, l.folder)
	if err != nil {
		return err
	}
	if l.postgres, err = devstack.Start(ctx,
		devstack.Options{Dir: filepath.Join(l.folder, "pg"), Log: l.options.Log, SkipTemporal: true}); err != nil {
		return err
	}
	if l.temporal, err = devstack.Start(ctx,
		devstack.Options{Log: l.options.Log, SearchAttributes: contract.SearchAttributes(),
			SkipPostgres: true}); err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, l.postgres.DatabaseURL()); err != nil {
		return err
	}
	if l.model, err = turnStartModel(l.options.Reply); err != nil {
		return err
	}
	at := ground.Servers{Database: l.postgres.DatabaseURL(), Temporal: l.temporal.TemporalAddress(),
		Namespace: l.temporal.TemporalNamespace(), Folder: l.folder}
	settings := at.Settings(ground.Scripted(l.model.http.URL + "/v1")...)
	if l.host, err = ground.OpenApp(ctx, settings); err != nil {
		return err
	}
	if l.stopBare, err = turnServeBare(l.host.Temporal); err != nil {
		return err
	}
	l.worker, err = ground.StartWorker(program, settings, l.options.Log)
	return err
}

func (l *turnLab) close() error {
	if l.worker != nil {
		l.worker.Stop()
	}
	if l.stopBare != nil {
		l.stopBare()
	}
	if l.host != nil {
		l.host.Close()
	}
	if l.model != nil {
		l.model.close()
	}
	return errors.Join(append(ground.CloseStacks(l.temporal, l.postgres), os.RemoveAll(l.folder))...)
}
