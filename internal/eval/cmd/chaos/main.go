// Command chaos carries out the chaos experiment and exits with 1 when a promise
// was broken: go run ./internal/eval/cmd/chaos
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"cairn/internal/eval/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !held {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (held bool, err error) {
	o := chaos.Options{Log: os.Stderr}
	flag.IntVar(&o.Distillations, "n", 200, "distillations")
	flag.IntVar(&o.Skills, "skills", 40, "distinct skills, at most 40")
	flag.DurationVar(&o.KillEvery, "kill", 0, "how often the worker is killed (default 3s)")
	flag.DurationVar(&o.Reply, "reply", 0, "that the model takes (default 20ms)")
	flag.DurationVar(&o.Spread, "spread", 0, "over which the requests come in (default 40s)")
	flag.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	// The experiment crashes its servers: never those that the environment names.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	result, err := chaos.Run(ctx, o)
	if err != nil {
		return false, err
	}
	if *output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return result.Held(), encoder.Encode(result)
	}
	return result.Held(), result.Print(os.Stdout)
}
