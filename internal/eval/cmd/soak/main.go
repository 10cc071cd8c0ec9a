// Command soak has many conversations at once while their worker is killed again
// and again, and exits with 1 when a promise was broken:
// go run ./internal/eval/cmd/soak
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"cairn/internal/eval/command"
	"cairn/internal/eval/soak"
)

func main() { command.Run("soak", run) }

func run(ctx context.Context) error {
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
	command.OwnServers()
	result, err := soak.Run(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(command.Print(*output, result, result.Print), command.Held(result.Held()))
}
