package retrieval

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

// Lab says what a throw-away database is to be like.
type Lab struct {
	Dims    int    // of the hashing embedder; 0 means its usual ones
	Buffers string // shared_buffers, such as 2GB; "" means what a development stack has
}

// OpenLab opens a throw-away database with the hashing embedder over it. Nothing
// of a user's is read or written.
func OpenLab(ctx context.Context, lab Lab, progress io.Writer) (h *app.Host, done func(), err error) {
	home, err := os.MkdirTemp("", "cairn-eval")
	if err != nil {
		return nil, nil, err
	}
	stack, err := devstack.Start(ctx, devstack.Options{Log: progress, SkipTemporal: true, Buffers: lab.Buffers})
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
	if lab.Dims > 0 {
		settings["CAIRN_EMBEDDING_DIMENSIONS"] = strconv.Itoa(lab.Dims)
	}
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_CONFIG=" + os.DevNull}, settings)
	if err == nil {
		c.SkillsDir = filepath.Join(home, "packages")
		if _, err = postgres.Migrate(ctx, c.DatabaseURL); err == nil {
			h, err = app.Open(ctx, c, slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: slog.LevelError})))
		}
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return h, done, nil
}
