package speed

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"cairn/activities"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/schedule"
	"cairn/workflows"
)

// Environment variables that make this program the benchmark's worker, and that name the file
// for its start times.
const (
	roleVariable   = "SWEEPBENCH_ROLE"
	startsVariable = "SWEEPBENCH_STARTS"
)

// WorkIfAsked runs the benchmark's worker if this process was started as one without
// arguments, and does not return in that case. Call it at the start of main.
func WorkIfAsked() {
	if os.Getenv(roleVariable) == "" || len(os.Args) > 1 {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := work(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker of the sweep:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work(ctx context.Context) error {
	c, err := config.Load(os.Environ(), nil)
	if err != nil {
		return err
	}
	h, err := app.Open(ctx, c, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer h.Close()
	starts, err := os.OpenFile(os.Getenv(startsVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the list of starts: %w", err)
	}
	defer starts.Close()
	h.Sweeper.Starter = &timed{Starter: h.Sweeper.Starter, to: starts}
	w := worker.New(h.Temporal, contract.QueueMain,
		worker.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 4})
	w.RegisterWorkflowWithOptions(workflows.Sweep, workflow.RegisterOptions{Name: contract.Sweep})
	w.RegisterWorkflowWithOptions(func(workflow.Context, contract.ReflectionInput) error {
		return nil
	}, workflow.RegisterOptions{Name: contract.ReflectionWorkflow})
	activities.Sweep{Sweeper: h.Sweeper, Curator: h.Curator}.RegisterMain(w)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()
	<-ctx.Done()
	return nil
}

// timed records the time of each start.
type timed struct {
	schedule.Starter
	mu sync.Mutex
	to io.Writer
}

func (t *timed) StartSlot(ctx context.Context, s scheduled.ClaimedFiring) (string, string, error) {
	began := time.Now()
	outcome, reason, err := t.Starter.StartSlot(ctx, s)
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, err := fmt.Fprintf(t.to, "%d %d\n", began.UnixNano(), time.Now().UnixNano()); err != nil {
			return "", "", fmt.Errorf("record a start: %w", err)
		}
	}
	return outcome, reason, err
}
