// Command bench-sweep measures the sweep over workspaces whose daily reflection
// is due at once: go run ./internal/eval/cmd/bench-sweep
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cairn/internal/eval/sweepbench"
)

func main() {
	sweepbench.WorkIfAsked() // the bench runs this program again as its worker
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-sweep:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := sweepbench.Full()
	flag.IntVar(&o.Workspaces, "workspaces", o.Workspaces, "that are due at once")
	flag.IntVar(&o.Talking, "talking", o.Talking, "every so manieth has conversations")
	flag.IntVar(&o.Kills, "kills", o.Kills, "of the worker, in the second sweep")
	flag.DurationVar(&o.Limit, "limit", o.Limit, "after which the bench gives up")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	o.Log = os.Stderr
	if o.Talking < 1 || o.Workspaces < o.Talking || o.Kills < 0 {
		return errors.New("give at least as many workspaces as -talking")
	}
	// Servers that the environment names are somebody else's and loaded by others.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	result, err := sweepbench.Run(ctx, o)
	if err != nil {
		return err
	}
	if *output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(result)
	} else {
		fmt.Println(strings.TrimSpace("go run ./internal/eval/cmd/bench-sweep " + strings.Join(os.Args[1:], " ")))
		err = result.Print(os.Stdout)
	}
	if missed := result.Failures(); len(missed) > 0 {
		err = errors.Join(err, errors.New(strings.Join(missed, "; ")))
	}
	return err
}
