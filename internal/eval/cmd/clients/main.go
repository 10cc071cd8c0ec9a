// Command clients installs programs of others that speak to Cairn, runs every
// call of theirs against `cairn serve`, prints what became of each, and exits
// with 1 when one failed: go run ./internal/eval/cmd/clients -cairn bin/cairn
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cairn/internal/eval/clients"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	held, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
	}
	if err != nil || !held {
		os.Exit(1)
	}
}

func run(ctx context.Context) (held bool, err error) {
	program := flag.String("cairn", "bin/cairn", "the command line, as `make build` makes it")
	report := flag.String("report", "", "write what the programs of MCP say to this file")
	limit := flag.Duration("limit", 15*time.Minute, "what is not done by then has failed")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	result, err := clients.Run(ctx, clients.Options{Program: path, Log: os.Stderr})
	if printed := result.Print(os.Stdout); err == nil {
		err = printed
	}
	if err != nil || *report == "" {
		return result.Held(), err
	}
	f, err := os.Create(*report)
	if err != nil {
		return false, err
	}
	if err := result.Report(f, time.Now()); err != nil {
		return false, err
	}
	return result.Held(), f.Close()
}
