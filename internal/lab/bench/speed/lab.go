package speed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/store"
)

// lab holds the open resources of a measurement.
type lab struct {
	options        AddOptions
	folder         string
	postgres       *devstack.Stack
	temporal       *devstack.Stack
	model          *model
	host           *app.App
	temporalClient client.Client
	admin          *pgxpool.Pool
	gateway        *ground.Worker
	worker         *ground.Worker
	url, key       string
	workspace      access.Workspace
	stopBare       func()
	serial         atomic.Int64
	output         lines
}

// lines is the output of the gateway, which announces its address.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func openLab(ctx context.Context, o AddOptions) (*lab, error) {
	if err := ground.OwnServers("benchmark measures its own servers"); err != nil {
		return nil, err
	}
	l := &lab{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) start(ctx context.Context) (err error) {
	if l.folder, err = ground.Folder("adds"); err != nil {
		return err
	}
	worker, err := ground.Build(ctx, ground.Supervised, l.options.Worker, l.folder)
	if err != nil {
		return err
	}
	cairn, err := ground.Build(ctx, ground.Cairn, l.options.Cairn, l.folder)
	if err != nil {
		return err
	}
	if l.postgres, err = devstack.Start(ctx,
		devstack.Options{Dir: filepath.Join(l.folder, "pg"), Log: l.options.Log, SkipTemporal: true}); err != nil {
		return err
	}
	if l.temporal, err = devstack.Start(ctx, devstack.Options{Log: l.options.Log,
		SearchAttributes: contract.SearchAttributes(), SkipPostgres: true}); err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, l.postgres.DatabaseURL()); err != nil {
		return err
	}
	if l.admin, err = pgxpool.New(ctx, l.postgres.DatabaseURL()); err != nil {
		return fmt.Errorf("connect the superuser: %w", err)
	}
	if l.model, err = startModel(); err != nil {
		return err
	}
	at := ground.Servers{Database: l.postgres.DatabaseURL(), Temporal: l.temporal.TemporalAddress(),
		Namespace: l.temporal.TemporalNamespace(), Folder: l.folder}
	settings := at.Settings(append(ground.Scripted(l.model.URL), "CAIRN_RATE_LIMIT=0",
		"CAIRN_MICROS_PER_DAY=unlimited")...)
	if l.host, err = ground.OpenApp(ctx, settings); err != nil {
		return err
	}
	l.temporalClient = l.host.Temporal
	if l.stopBare, err = serveBare(l.temporalClient); err != nil {
		return err
	}
	if l.worker, err = ground.StartWorker(worker, settings, l.options.Log); err != nil {
		return err
	}
	return l.serve(ctx, cairn, settings)
}

// announced matches the address that a gateway prints.
var announced = regexp.MustCompile(`(?m)^ready: (http://\S+)`)

// serve starts the gateway and creates a key for its clients.
func (l *lab) serve(ctx context.Context, program string, settings []string) (err error) {
	if l.workspace, err = l.host.Store.Workspace(ctx, "bench", true); err != nil {
		return err
	}
	if l.key, _, err = l.host.Keys.Create(ctx, l.workspace.ID, "bench",
		[]access.Scope{access.Read, access.Write}); err != nil {
		return err
	}
	if l.gateway, err = ground.StartWorker(program, slices.Clone(settings), &l.output, "serve", "--listen",
		"127.0.0.1:0"); err != nil {
		return err
	}
	const patience, poll = time.Minute, 20 * time.Millisecond
	for until := time.Now().Add(patience); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(poll) {
		if m := announced.FindStringSubmatch(l.output.String()); m != nil {
			l.url = m[1]
			return nil
		}
	}
	return fmt.Errorf("the gateway is not ready: %s", l.output.String())
}

func (l *lab) close() error {
	for _, p := range []*ground.Worker{l.gateway, l.worker} {
		if p != nil {
			p.Stop()
		}
	}
	if l.stopBare != nil {
		l.stopBare()
	}
	if l.host != nil {
		l.host.Close()
	}
	if l.admin != nil {
		l.admin.Close()
	}
	if l.model != nil {
		l.model.Close()
	}
	return errors.Join(append(ground.CloseStacks(l.temporal, l.postgres), os.RemoveAll(l.folder))...)
}
