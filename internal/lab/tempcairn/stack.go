package tempcairn

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/store"
)

// OpenStack opens an App with a temporary development stack, the offline model and workers in this
// process. It keeps all versions of skills. Call done to remove it.
func OpenStack(
	ctx context.Context,
	progress io.Writer,
	settings map[string]string,
) (h *app.App, done func(), err error) {
	home, err := os.MkdirTemp("", "cairn-lab")
	if err != nil {
		return nil, nil, err
	}
	closers := []func(){func() { _ = os.RemoveAll(home) }}
	done = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	fail := func(err error) (*app.App, func(), error) { done(); return nil, nil, err }
	stack, err := devstack.Start(ctx, devstack.Options{Log: progress, SearchAttributes: contract.SearchAttributes()})
	if err != nil {
		return fail(err)
	}
	closers = append(closers, func() { _ = stack.Close() })
	if _, err := store.Migrate(ctx, stack.DatabaseURL()); err != nil {
		return fail(err)
	}
	chosen := map[string]string{"DATABASE_URL": stack.DatabaseURL(), "TEMPORAL_ADDRESS": stack.TemporalAddress(),
		"TEMPORAL_NAMESPACE": stack.TemporalNamespace(), "CAIRN_LOG": "error", "SKILL_QUALITY": "off",
		"SKILL_KEEP_VERSIONS": "0"}
	maps.Copy(chosen, settings)
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_CONFIG=" + os.DevNull}, chosen)
	if err != nil {
		return fail(err)
	}
	c.SkillsDir = filepath.Join(home, "packages")
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if h, err = app.Open(ctx, c, log); err != nil {
		return fail(err)
	}
	closers = append(closers, h.Close)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	workers.Go(func() {
		if err := h.Work(working, app.Queues()); err != nil {
			log.Error("worker failed", "error", err)
		}
	})
	closers = append(closers, func() { stop(); workers.Wait() })
	return h, done, nil
}
