package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/app/config"
)

// Limits of the probe of the embedder.
const (
	probeTimeout = time.Second      // shorter than the timeout of a readiness check
	probeValid   = 30 * time.Second // during which its result is reused
)

// CheckEmbedder returns why the embedder is not usable, or nil. It reuses a result for a short time,
// and logs a change.
func (h *App) CheckEmbedder(ctx context.Context) error { return h.embedderState.check(ctx) }

// ProbeEmbedder embeds a short text with the configured model. A wrong dimension is
// fault.Misconfigured.
func ProbeEmbedder(ctx context.Context, c config.Config) error {
	return embedding.Probe(ctx, embedder(c))
}

// embedderState is the result of the last probe of the embedder.
type embedderState struct {
	embedder embedding.Embedder
	log      *slog.Logger

	mu    sync.Mutex
	asked time.Time
	err   error
}

func (s *embedderState) check(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && time.Since(s.asked) < probeValid {
		return s.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	err := embedding.Probe(ctx, s.embedder)
	switch {
	case err != nil && s.err == nil:
		s.log.Warn("embedder degraded, searches compare words only", "error", err)
	case err == nil && s.err != nil:
		s.log.Info("embedder recovered")
	}
	s.asked, s.err = time.Now(), err
	return err
}
