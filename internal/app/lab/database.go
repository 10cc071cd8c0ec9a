// Package lab opens a throw-away Cairn on servers of its own, for measurements: nothing
// of a user's is read or written.
package lab

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"cairn/internal/adapter/devstack"
	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/app/config"
)

// Options say what a throw-away database is to be like. The zero value is a usual one.
type Options struct {
	Dims    int    // of the hashing embedder; 0 means its usual ones
	Buffers string // shared_buffers, such as 2GB; "" means what a development stack has
}

// OpenDatabase opens a throw-away database with the hashing embedder over it.
func OpenDatabase(ctx context.Context, o Options, progress io.Writer) (h *app.App, done func(), err error) {
	home, err := os.MkdirTemp("", "cairn-eval")
	if err != nil {
		return nil, nil, err
	}
	stack, err := devstack.Start(ctx, devstack.Options{Log: progress, SkipTemporal: true, Buffers: o.Buffers})
	if err != nil {
		_ = os.RemoveAll(home)
		return nil, nil, err
	}
	done = func() {
		if h != nil {
			h.Close()
		}
		_ = stack.Close()
		_ = os.RemoveAll(home)
	}
	settings := map[string]string{"DATABASE_URL": stack.DatabaseURL(), "CAIRN_LOG": "error"}
	if o.Dims > 0 {
		settings["CAIRN_EMBEDDING_DIMENSIONS"] = strconv.Itoa(o.Dims)
	}
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_CONFIG=" + os.DevNull}, settings)
	if err == nil {
		c.SkillsDir = filepath.Join(home, "packages")
		if _, err = postgres.Migrate(ctx, c.DatabaseURL); err == nil {
			h, err = app.Open(ctx, c, slog.New(slog.NewTextHandler(progress,
				&slog.HandlerOptions{Level: slog.LevelError})))
		}
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return h, done, nil
}
