// Command worker hosts Cairn's workflows and activities.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cairn/internal/app"
	"cairn/internal/app/config"
)

func main() {
	app.EnterChild()
	queues := flag.String("queues", strings.Join(app.Queues(), ","), app.QueuesUsage)
	version := flag.Bool("version", false, "print version and build information and exit")
	flag.Parse()
	if *version {
		app.PrintVersion(os.Stdout, "worker")
		return
	}
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
	return app.Work(ctx, c, app.NewLogger(os.Stderr, c.LogLevel), queues)
}
