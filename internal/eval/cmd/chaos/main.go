// Command chaos carries out the chaos experiment and exits with 1 when a promise
// was broken: go run ./internal/eval/cmd/chaos
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"cairn/internal/eval/chaos"
	"cairn/internal/eval/command"
)

func main() { command.Run("chaos", run) }

func run(ctx context.Context) error {
	o := chaos.Options{Log: os.Stderr}
	flag.IntVar(&o.Distillations, "n", 200, "distillations")
	flag.IntVar(&o.Skills, "skills", 40, "distinct skills, at most 40")
	flag.DurationVar(&o.KillEvery, "kill", 0, "how often the worker is killed (default 3s)")
	flag.DurationVar(&o.Reply, "reply", 0, "that the model takes (default 20ms)")
	flag.DurationVar(&o.Spread, "spread", 0, "over which the requests come in (default 40s)")
	flag.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	command.OwnServers()
	result, err := chaos.Run(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(command.Print(*output, result, result.Print), command.Held(result.Held()))
}
