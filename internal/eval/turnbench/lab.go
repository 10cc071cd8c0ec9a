package turnbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"cairn/internal/config"
	"cairn/internal/devstack"
	"cairn/internal/eval/workerproc"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/internal/host"
	"cairn/internal/store"
)

// lab is everything that is open while something is measured.
type lab struct {
	options  Options
	folder   string
	postgres *devstack.Stack
	temporal *devstack.Stack
	model    *model
	host     *host.Host // the gateway's side
	worker   *workerproc.Process
	stopBare func()
}

func openLab(ctx context.Context, o Options) (*lab, error) {
	if os.Getenv("DATABASE_URL") != "" || os.Getenv("TEMPORAL_ADDRESS") != "" {
		return nil, fault.New(fault.Misconfigured, "the environment names servers, and this bench measures servers of its own",
			"unset DATABASE_URL and TEMPORAL_ADDRESS")
	}
	l := &lab{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) start(ctx context.Context) (err error) {
	// Short, for sockets; open to the account that runs Postgres for root.
	if l.folder, err = os.MkdirTemp("/tmp", "cairn-bench-"); err != nil {
		return fmt.Errorf("make the bench's folder: %w", err)
	}
	if err := os.Chmod(l.folder, 0o755); err != nil {
		return fmt.Errorf("make the bench's folder: %w", err)
	}
	program, err := workerproc.Built(ctx, l.options.Worker, l.folder)
	if err != nil {
		return err
	}
	if l.postgres, err = devstack.Start(ctx, devstack.Options{Dir: filepath.Join(l.folder, "pg"), Log: l.options.Log, SkipTemporal: true}); err != nil {
		return err
	}
	if l.temporal, err = devstack.Start(ctx, devstack.Options{Log: l.options.Log, SearchAttributes: flow.SearchAttributes(), SkipPostgres: true}); err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, l.postgres.DatabaseURL()); err != nil {
		return err
	}
	if l.model, err = startModel(l.options.Reply); err != nil {
		return err
	}
	settings := []string{"DATABASE_URL=" + l.postgres.DatabaseURL(), "TEMPORAL_ADDRESS=" + l.temporal.TemporalAddress(), "TEMPORAL_NAMESPACE=" + l.temporal.TemporalNamespace(),
		"OPENAI_BASE_URL=" + l.model.http.URL + "/v1", "OPENAI_API_KEY=none", "CAIRN_MODEL=scripted", "CAIRN_HOME=" + l.folder, "CAIRN_LOG=error", "CAIRN_STOP_TIMEOUT=2s", "CAIRN_SWEEP_EVERY=0s"}
	c, err := config.Load(append([]string{"CAIRN_CONFIG=" + os.DevNull}, settings...), nil)
	if err != nil {
		return err
	}
	if l.host, err = host.Open(ctx, c, slog.New(slog.NewTextHandler(io.Discard, nil))); err != nil {
		return err
	}
	if l.stopBare, err = serveBare(l.host.Temporal); err != nil {
		return err
	}
	l.worker, err = workerproc.Start(program, settings, l.options.Log)
	return err
}

func (l *lab) close() error {
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
	var errs []error
	for _, s := range []*devstack.Stack{l.temporal, l.postgres} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(l.folder))...)
}
