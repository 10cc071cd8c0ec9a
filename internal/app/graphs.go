package app

import (
	"cmp"
	"context"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
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

// buildGraph builds the graph of a workspace that changes its space, if it has the size for one and
// this process may build graphs. Without a graph, searches read all vectors.
func (h *App) buildGraph(ctx context.Context, ws int64, space int16, documents int) error {
	from := max(store.MinGraph, h.Config.GraphFrom)
	if h.Config.GraphFrom == 0 || documents < from {
		return nil
	}
	err := h.Store.BuildVectorIndex(ctx, h.graphURL(), ws, space)
	if fault.CodeOf(err) == fault.Misconfigured {
		h.Log.Warn("vector index not built", "error", err)
		return nil
	}
	return err
}

// maintainVectors maintains the vector indexes of large workspaces, and drops the vectors of spaces
// that are not used any more, until ctx ends or the database login lacks the rights.
func (h *App) maintainVectors(ctx context.Context) {
	ticker := time.NewTicker(indexInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := h.maintainIndexes(ctx)
		if err == nil {
			err = h.retireSpaces(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case fault.CodeOf(err) == fault.Misconfigured:
			h.Log.Warn("vector index maintenance disabled", "error", err)
			return
		case err != nil:
			h.Log.Warn("vector index maintenance failed", "error", err)
		}
	}
}

func (h *App) maintainIndexes(ctx context.Context) error {
	if h.Config.GraphFrom == 0 {
		return nil
	}
	done, err := h.Store.MaintainVectorIndexes(ctx, h.graphURL(), h.Space,
		max(store.MinGraph, h.Config.GraphFrom))
	if len(done.Built)+len(done.Dropped) > 0 {
		h.Log.Info("vector indexes changed", "built", done.Built, "dropped", done.Dropped)
	}
	return err
}

// retireSpaces never retires the space of the configured model.
func (h *App) retireSpaces(ctx context.Context) error {
	retired, err := h.Store.RetireSpaces(ctx, h.graphURL(), []int16{h.Space})
	if len(retired) > 0 {
		h.Log.Info("embedding spaces retired", "spaces", retired)
	}
	return err
}

// graphURL returns the address of the login that builds indexes. A file is read again: its password
// may have changed.
func (h *App) graphURL() string {
	if reread := h.Config.Reread("CAIRN_GRAPH_DATABASE_URL", "DATABASE_URL"); reread != nil {
		if url, err := reread(); err == nil {
			return url
		}
	}
	return cmp.Or(h.Config.GraphURL, h.Config.DatabaseURL)
}
