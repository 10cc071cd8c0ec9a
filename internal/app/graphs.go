package app

import (
	"cmp"
	"context"
	"time"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
)

// graphsEvery is how often workspaces are looked over for the size of graphs. A
// workspace that has just become big is searched exactly meanwhile.
const graphsEvery = 10 * time.Minute

// tendGraphs keeps the graphs over the vectors of big workspaces until ctx ends,
// or the login turns out not to be allowed to.
func (h *App) tendGraphs(ctx context.Context) {
	if h.Config.GraphFrom == 0 {
		return
	}
	look := time.NewTicker(graphsEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		done, err := h.Store.MaintainVectorIndexes(ctx, cmp.Or(h.Config.GraphURL, h.Config.DatabaseURL), h.Space,
			max(postgres.LeastGraph, h.Config.GraphFrom))
		switch {
		case ctx.Err() != nil:
			return
		case fault.CodeOf(err) == fault.Misconfigured:
			h.Log.Warn("no graphs are built", "error", err)
			return
		case err != nil:
			h.Log.Warn("graphs", "error", err)
		case len(done.Built)+len(done.Dropped) > 0:
			h.Log.Info("graphs", "built", done.Built, "dropped", done.Dropped)
		}
	}
}
