// Package tempcairn opens a temporary Cairn with its own servers, for measurements. It never reads or writes
// the data of users.
//
//	a, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{}, os.Stderr)
//	defer done()
package tempcairn

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/store"
)

// Options configure a temporary database. The zero value is the default.
type Options struct {
	Dims    int    // dimensions of the hashing embedder; 0 means its default
	Buffers string // shared_buffers of Postgres, such as 2GB; "" means the default of a development stack
	Profile string // file of search parameters; "" means none
	// Embedding is a configuration whose embedder is used instead of the hashing embedder; nil
	// means none.
	Embedding *config.Config
}

// OpenDatabase opens an App with a temporary database and the hashing embedder unless o.Embedding
// says otherwise, without Temporal.
// Call done to remove it.
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
	if o.Profile != "" {
		settings["CAIRN_SEARCH_PROFILE"] = o.Profile
	}
	if o.Dims > 0 {
		settings["CAIRN_EMBEDDING_DIMENSIONS"] = strconv.Itoa(o.Dims)
	}
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_CONFIG=" + os.DevNull}, settings)
	if err == nil {
		if e := o.Embedding; e != nil {
			c.EmbeddingModel, c.EmbeddingDimensions = e.EmbeddingModel, e.EmbeddingDimensions
			c.EmbeddingBaseURL, c.EmbeddingAPIKey = cmp.Or(
				e.EmbeddingBaseURL,
				e.BaseURL,
			), cmp.Or(
				e.EmbeddingAPIKey,
				e.APIKey,
			)
			c.RecallMinSim, c.Timeout = e.RecallMinSim, e.Timeout
		}
		c.SkillsDir = filepath.Join(home, "packages")
		if _, err = store.Migrate(ctx, c.DatabaseURL); err == nil {
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
