package app

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/prometheus"
)

// Pauses between attempts to start while Postgres or Temporal is not available. The pause doubles
// up to maxPause.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
)

// waiting is the log event of each failed attempt.
const waiting = "worker start postponed"

// Work serves the named queues until ctx ends, and serves the metrics of this process if they are
// configured. If Postgres or Temporal is not available, it logs a warning and tries again without
// limit, because a restart by a service manager would not help. It returns an error for problems
// that an operator must solve: configuration, roles or the schema.
func Work(ctx context.Context, c config.Config, log *slog.Logger, queues []string) error {
	stopMetrics, err := prometheus.Show(c.WorkerMetrics, log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	if c.TemporalAddress == "" {
		return fault.New(fault.Misconfigured, "Temporal not configured",
			"set TEMPORAL_ADDRESS, or start the development stack with `cairn dev`")
	}
	pause := firstPause
	for {
		began := time.Now()
		err := workOnce(ctx, c, log, queues)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil || !temporary(err) {
			return err
		}
		if time.Since(began) > maxPause { // the worker was running
			pause = firstPause
		}
		log.Warn(waiting, "error", err, "hint", fault.From(err).Hint, "retry_after", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

func workOnce(ctx context.Context, c config.Config, log *slog.Logger, queues []string) error {
	h, err := Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.CheckTemporal(ctx); err != nil {
		return err
	}
	return h.Work(ctx, queues)
}

// temporary reports whether an error can disappear without a change by an operator. Errors without a
// code count as temporary, because a broken connection has many forms.
func temporary(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Internal || fault.Table[code].Retryable
}
