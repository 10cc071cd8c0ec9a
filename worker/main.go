// Command worker hosts Cairn's workflows and activities.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/prometheus"
)

func main() {
	sandbox.Enter()
	queues := flag.String("queues", strings.Join(app.Queues(), ","), "task queues to serve, separated by commas; "+contract.QueueSandbox+" runs commands of skills")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(*queues, ",")); err != nil {
		f := fault.From(err)
		fmt.Fprintf(os.Stderr, "worker: %s [%s]\n  hint: %s\n", f.Error(), f.Code, f.Hint)
		os.Exit(fault.Table[f.Code].Exit)
	}
}

func run(ctx context.Context, queues []string) error {
	c, err := config.Load(os.Environ(), nil)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: app.Level(c.LogLevel)}))
	shown, err := prometheus.Show(c.WorkerMetrics, log)
	if err != nil {
		return err
	}
	defer shown()
	return app.Serve(ctx, c, log, queues)
}
