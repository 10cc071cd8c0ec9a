// Command clients installs programs of others that speak to Cairn, runs every
// call of theirs against `cairn serve`, prints what became of each, and exits
// with 1 when one failed: go run ./internal/eval/cmd/clients -cairn bin/cairn
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"time"

	"cairn/internal/eval/clients"
	"cairn/internal/eval/command"
)

func main() { command.Run("clients", run) }

func run(ctx context.Context) error {
	program := flag.String("cairn", "bin/cairn", "the command line, as `make build` makes it")
	report := flag.String("report", "", "write what the programs of MCP say to this file")
	limit := flag.Duration("limit", 15*time.Minute, "what is not done by then has failed")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	result, err := clients.Run(ctx, clients.Options{Program: path, Log: os.Stderr})
	if printed := result.Print(os.Stdout); err == nil {
		err = printed
	}
	if err != nil || *report == "" {
		return errors.Join(err, command.Held(result.Held()))
	}
	f, err := os.Create(*report)
	if err != nil {
		return err
	}
	if err := result.Report(f, time.Now()); err != nil {
		return err
	}
	return errors.Join(f.Close(), command.Held(result.Held()))
}
