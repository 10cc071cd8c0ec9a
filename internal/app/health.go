package app

import (
	"context"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/service/health"
)

// buildHealth wires the reasons why something does not work.
func (h *App) buildHealth() {
	h.Health = health.New(health.Ports{Store: h.Store.Health(), Temporal: h.askTemporal,
		Schema: func(ctx context.Context) error {
			_, err := h.askSchema(ctx)
			return err
		}, Embedder: h.CheckEmbedder},
		health.Installation{Queues: Queues(), Sandbox: contract.QueueSandbox, Shell: h.Config.Shell,
			Offline: h.Config.Offline()})
}

// keepBeating records that this worker is alive until ctx ends.
func (h *App) keepBeating(ctx context.Context, queues []string) {
	pulse := time.NewTicker(health.Pulse)
	defer pulse.Stop()
	for {
		if err := h.Store.WorkerBeat(ctx, queues); err != nil && ctx.Err() == nil {
			h.Log.Debug("beat of the worker not stored", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-pulse.C:
		}
	}
}
