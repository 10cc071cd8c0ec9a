// Command worker hosts Cairn's workflows and activities.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cairn/internal/app"
	"cairn/internal/app/config"
)

func main() {
	app.EnterSandbox()
	queues := flag.String("queues", strings.Join(app.Queues(), ","), app.QueuesUsage)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := work(ctx, strings.Split(*queues, ","))
	stop()
	os.Exit(app.ExitCode(os.Stderr, "worker", err))
}

func work(ctx context.Context, queues []string) error {
	c, err := config.Load(os.Environ(), nil)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: app.Level(c.LogLevel)}))
	return app.Work(ctx, c, log, queues)
}
