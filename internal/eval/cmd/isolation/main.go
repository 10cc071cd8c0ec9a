// Command isolation has 50 workspaces use one Cairn at once through the library,
// HTTP, mem0's routes and MCP, compares every answer with a model in memory, and
// exits with 1 on any difference: go run ./internal/eval/cmd/isolation
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"cairn/internal/eval/command"
	"cairn/internal/eval/isolation"
	"cairn/internal/eval/retrieval"
)

func main() { command.Run("isolation", run) }

func run(ctx context.Context) error {
	o := isolation.Options{Log: os.Stderr}
	flag.IntVar(&o.Workspaces, "workspaces", 0, "at once (default 50)")
	flag.IntVar(&o.Operations, "n", 0, "operations of all of them (default 10000)")
	flag.Uint64Var(&o.Seed, "seed", 0, "of everything that is drawn; 0 draws it")
	limit := flag.Duration("limit", 10*time.Minute, "what is not done by then is missing, and the experiment fails")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	// The rows that are counted are all that there are: never in a database that the environment names.
	h, done, err := retrieval.OpenLab(ctx, retrieval.Lab{}, os.Stderr)
	if err != nil {
		return err
	}
	defer done()
	h.Config.RateLimit = 0
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	result, err := isolation.Run(ctx, h, o)
	if err != nil {
		return err
	}
	return errors.Join(command.Print(*output, result, result.Print), command.Held(result.Held()))
}
