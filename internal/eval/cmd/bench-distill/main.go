// Command bench-distill measures what distillations cost beside their model
// calls: go run ./internal/eval/cmd/bench-distill
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

	"cairn/internal/eval/distillbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-distill:", err)
		stop()
		os.Exit(1)
	}
}

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
	// Servers that the environment names are somebody else's and loaded by others.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	all, err := distillbench.Run(ctx, o)
	if len(all) == 0 {
		return err
	}
	// What was measured before something failed is worth seeing.
	if *output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return errors.Join(err, encoder.Encode(all))
	}
	fmt.Println(strings.TrimSpace("go run ./internal/eval/cmd/bench-distill " + strings.Join(os.Args[1:], " ")))
	return errors.Join(err, distillbench.Print(os.Stdout, all))
}
