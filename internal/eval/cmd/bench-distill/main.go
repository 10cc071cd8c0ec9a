// Command bench-distill measures what distillations cost beside their model
// calls: go run ./internal/eval/cmd/bench-distill
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"cairn/internal/eval/command"
	"cairn/internal/eval/distillbench"
)

func main() { command.Run("bench-distill", run) }

func run(ctx context.Context) error {
	o := distillbench.Options{Log: os.Stderr}
	flag.IntVar(&o.Runs, "runs", 15, "distillations of the latency measurement")
	flag.IntVar(&o.Load, "load", 256, "distillations of the throughput measurement")
	flag.IntVar(&o.AtOnce, "at-once", 64, "of these at once")
	flag.IntVar(&o.Workspaces, "workspaces", 64, "that they are spread over")
	servers := flag.String("servers", "memory,file", "kinds of Temporal server, by where it keeps its state")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	o.Servers = strings.Split(*servers, ",")
	command.OwnServers()
	all, err := distillbench.Run(ctx, o)
	if len(all) == 0 {
		return err
	}
	// What was measured before something failed is worth seeing.
	shown := command.Print(*output, all, func(w io.Writer) error {
		fmt.Fprintln(w, command.Line("bench-distill"))
		return distillbench.Print(w, all)
	})
	return errors.Join(err, shown)
}
