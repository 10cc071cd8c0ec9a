// Command testservers starts the servers of a `go test` run and ends them when the run has ended. It
// is a program of its own, so that test programs do not link the client of Temporal. Its argument is
// a testrun.Order as JSON; it reports its progress to descriptor 3.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/devstack"
	"cairn/internal/lab/devtest/testrun"
	"cairn/internal/store/dbsqlc"
)

// ownerPoll is the interval at which the program checks whether its owner is still running.
const ownerPoll = 500 * time.Millisecond

// dropPatience bounds the removal of the templates from an external server.
const dropPatience = 2 * time.Minute

func main() {
	syscall.CloseOnExec(3) // otherwise the servers would keep it open
	report := os.NewFile(3, "report")
	if err := hold(report); err != nil {
		fmt.Fprintln(report, testrun.Failure+strings.ReplaceAll(err.Error(), "\n", " · "))
		os.Exit(1)
	}
}

// hold runs the servers until the owner has ended or SIGTERM arrives. It closes report when the
// servers respond.
func hold(report *os.File) error {
	var order testrun.Order
	if len(os.Args) != 2 {
		return fmt.Errorf("testservers needs one argument, the order as JSON")
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		for order.Owner.Alive() && running.Err() == nil {
			time.Sleep(ownerPoll)
		}
		stop()
	}()
	defer os.RemoveAll(order.Folder)
	starting, cancel := context.WithTimeout(running, testrun.Patience)
	defer cancel()
	stack, err := devstack.Start(starting, devstack.Options{Log: report, SkipPostgres: order.OnlyTemporal,
		SearchAttributes: testrun.SearchAttributes})
	if err != nil {
		return err
	}
	defer stack.Close()
	if err := order.Publish(testrun.Servers{DatabaseURL: stack.DatabaseURL(),
		TemporalAddress: stack.TemporalAddress(), TemporalNamespace: stack.TemporalNamespace(),
		Holder: testrun.Self()}); err != nil {
		return err
	}
	report.Close()
	<-running.Done()
	if !order.OnlyTemporal {
		dropTemplates(order.TemplatePrefix())
	}
	return nil
}

// dropTemplates removes the templates from an external server.
func dropTemplates(prefix string) {
	admin := os.Getenv("DATABASE_URL")
	if admin == "" {
		return // the whole server is removed
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	names, _ := dbsqlc.New(conn).TemplatesOf(ctx, prefix)
	for _, name := range names {
		_, _ = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE false")
		_, _ = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	}
}
