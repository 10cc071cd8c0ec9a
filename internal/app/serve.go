package app

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/prometheus"
)

// Pauses between attempts to serve while Postgres or Temporal are away.
const (
	firstPause = 200 * time.Millisecond
	mostPause  = 5 * time.Second
)

// waiting is what the log says meanwhile.
const waiting = "the worker waits for what it needs"

// Work hosts the named queues until ctx ends, and shows this process' counts where
// the configuration says so. While Postgres or Temporal do not answer it waits for
// them, for ever, and says so in the log: a worker is no use without them, and ending
// would only ask its service manager for another. It ends by itself for what an
// operator must mend: the settings, a role, the schema.
func Work(ctx context.Context, c config.Config, log *slog.Logger, queues []string) error {
	hide, err := prometheus.Show(c.WorkerMetrics, log)
	if err != nil {
		return err
	}
	defer hide()
	if c.TemporalAddress == "" {
		return fault.New(fault.Misconfigured, "there is no Temporal server",
			"set TEMPORAL_ADDRESS, or start the development stack: cairn dev")
	}
	pause := firstPause
	for {
		began := time.Now()
		err := workOnce(ctx, c, log, queues)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil || !passes(err) {
			return err
		}
		if time.Since(began) > mostPause { // it worked meanwhile
			pause = firstPause
		}
		log.Warn(waiting, "error", err, "hint", fault.From(err).Hint, "again_in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

func workOnce(ctx context.Context, c config.Config, log *slog.Logger, queues []string) error {
	h, err := Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer h.Close()
	return h.Work(ctx, queues)
}

// passes tells trouble that may go by itself. An error that nobody has classed
// is such: a connection that breaks in the middle of an answer has many names.
func passes(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Internal || fault.Table[code].Retryable
}
