package app

import (
	"cmp"
	"context"
	"time"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
)

// indexInterval is how often workspaces are checked for vector indexes to build or drop. Until its
// index is built, a large workspace is searched exactly.
const indexInterval = 10 * time.Minute

// recounted limits the workspaces whose words are counted in one pass.
const recounted = 50

// recountTerms corrects word frequencies of workspaces once a week until ctx ends.
func (h *App) recountTerms(ctx context.Context) {
	ticker := time.NewTicker(indexInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n, err := h.Store.RecountTerms(ctx, recounted)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.Log.Warn("counting words failed", "error", err)
		case n > 0:
			h.Log.Info("word frequencies corrected", "words", n)
		}
	}
}

// maintainIndexes maintains the vector indexes of large workspaces until ctx ends or the database
// login lacks the rights.
func (h *App) maintainIndexes(ctx context.Context) {
	if h.Config.GraphFrom == 0 {
		return
	}
	ticker := time.NewTicker(indexInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		done, err := h.Store.MaintainVectorIndexes(ctx, cmp.Or(h.Config.GraphURL, h.Config.DatabaseURL), h.Space,
			max(postgres.LeastGraph, h.Config.GraphFrom))
		switch {
		case ctx.Err() != nil:
			return
		case fault.CodeOf(err) == fault.Misconfigured:
			h.Log.Warn("vector index maintenance disabled", "error", err)
			return
		case err != nil:
			h.Log.Warn("vector index maintenance failed", "error", err)
		case len(done.Built)+len(done.Dropped) > 0:
			h.Log.Info("vector indexes changed", "built", done.Built, "dropped", done.Dropped)
		}
	}
}
