package speed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/store"
)

// sweepLab holds the open resources of a measurement.
type sweepLab struct {
	options  SweepOptions
	folder   string
	postgres *devstack.Stack
	temporal *devstack.Stack
	host     *app.App
	admin    *pgxpool.Pool
	settings []string
	worker   *ground.Worker
}

// sweepOpenLab uses the servers at; the zero value starts new ones.
func sweepOpenLab(ctx context.Context, o SweepOptions, at ground.Servers) (*sweepLab, error) {
	l := &sweepLab{options: o}
	if err := l.start(ctx, at); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *sweepLab) start(ctx context.Context, at ground.Servers) (err error) {
	if l.folder, err = ground.Folder("sweep"); err != nil {
		return err
	}
	if at == (ground.Servers{}) {
		if l.postgres, err = devstack.Start(ctx,
			devstack.Options{Dir: filepath.Join(l.folder, "pg"), Log: l.options.Log, SkipTemporal: true}); err != nil {
			return err
		}
		if l.temporal, err = devstack.Start(ctx,
			devstack.Options{Log: l.options.Log, SearchAttributes: contract.SearchAttributes(),
				SkipPostgres: true}); err != nil {
			return err
		}
		at = ground.Servers{Database: l.postgres.DatabaseURL(), Temporal: l.temporal.TemporalAddress(),
			Namespace: l.temporal.TemporalNamespace()}
	}
	if _, err := store.Migrate(ctx, at.Database); err != nil {
		return err
	}
	at.Folder = l.folder
	l.settings = at.Settings("CAIRN_SWEEP_JITTER=0s", roleVariable+"=worker", startsVariable+"="+l.starts())
	if l.host, err = ground.OpenApp(ctx, l.settings); err != nil {
		return err
	}
	admin, err := pgxpool.ParseConfig(at.Database)
	if err != nil {
		return fmt.Errorf("read the database's address: %w", err)
	}
	admin.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	if l.admin, err = pgxpool.NewWithConfig(ctx, admin); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return l.startWorker()
}

// starts is the path of the file with start times.
func (l *sweepLab) starts() string { return filepath.Join(l.folder, "starts") }

// startWorker runs this program again as the worker.
func (l *sweepLab) startWorker() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	l.worker, err = ground.StartWorker(program, l.settings, l.options.Log)
	return err
}

func (l *sweepLab) close() error {
	if l.worker != nil {
		l.worker.Stop()
	}
	if l.admin != nil {
		l.admin.Close()
	}
	if l.host != nil {
		l.host.Close()
	}
	return errors.Join(append(ground.CloseStacks(l.temporal, l.postgres), os.RemoveAll(l.folder))...)
}

// exec runs a statement as the superuser.
func (l *sweepLab) exec(ctx context.Context, sql string, args ...any) error {
	if _, err := l.admin.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	return nil
}

func (l *sweepLab) number(ctx context.Context, sql string, args ...any) (n int, err error) {
	if err := l.admin.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("%.60s: %w", sql, err)
	}
	return n, nil
}
