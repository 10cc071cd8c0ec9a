// Command soak has many conversations at once while their worker is killed again
// and again, and exits with 1 when a promise was broken:
// go run ./internal/eval/cmd/soak
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"cairn/internal/eval/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !held {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (held bool, err error) {
	o := soak.Options{Log: os.Stderr}
	flag.IntVar(&o.Conversations, "n", 100, "conversations")
	flag.IntVar(&o.Turns, "turns", 20, "of each")
	flag.IntVar(&o.AtOnce, "at-once", 0, "turns under way at once, at most (default as many as conversations)")
	flag.DurationVar(&o.KillEvery, "kill", 0, "how often the worker is killed (default 10s)")
	flag.DurationVar(&o.Reply, "reply", 0, "that the model takes (default 20ms)")
	flag.DurationVar(&o.Goal, "goal", 0, "for the time of all of it (default 5m)")
	flag.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	// What is counted is all that is there: never on servers that the environment names.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	result, err := soak.Run(ctx, o)
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
