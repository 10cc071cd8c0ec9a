package retrieval

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"cairn/internal/config"
	"cairn/internal/devstack"
	"cairn/internal/host"
	"cairn/internal/store"
)

// OpenLab opens a throw-away database with the hashing embedder over it; dims of
// 0 are its usual ones. Nothing of a user's is read or written.
func OpenLab(ctx context.Context, dims int, progress io.Writer) (h *host.Host, done func(), err error) {
	home, err := os.MkdirTemp("", "cairn-eval")
	if err != nil {
		return nil, nil, err
	}
	stack, err := devstack.Start(ctx, devstack.Options{Log: progress, SkipTemporal: true})
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
	if dims > 0 {
		settings["CAIRN_EMBEDDING_DIMENSIONS"] = strconv.Itoa(dims)
	}
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_CONFIG=" + os.DevNull}, settings)
	if err == nil {
		c.SkillsDir = filepath.Join(home, "packages")
		if _, err = store.Migrate(ctx, c.DatabaseURL); err == nil {
			h, err = host.Open(ctx, c, slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: slog.LevelError})))
		}
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return h, done, nil
}
