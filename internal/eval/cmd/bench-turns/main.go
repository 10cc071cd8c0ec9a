// Command bench-turns measures what turns cost beside their model calls:
// go run ./internal/eval/cmd/bench-turns. It fails when a goal is missed, and
// when it could not measure all.
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

	"cairn/internal/eval/turnbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-turns:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := turnbench.Full()
	tiny := flag.Bool("tiny", false, "measure just enough to see that it works")
	flag.DurationVar(&o.Reply, "reply", o.Reply, "that the model takes; 0 answers at once")
	flag.DurationVar(&o.Limit, "limit", o.Limit, "after which it fails with what was measured by then")
	atOnce := flag.Int("at-once", 0, "measure this load only: 1, 16 or 64 conversations; 0 measures all")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	if *tiny {
		o = turnbench.Tiny()
	}
	if *atOnce != 0 {
		o.Only(*atOnce)
	}
	o.Log = os.Stderr
	// Servers that the environment names are somebody else's and loaded by others.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	result, err := turnbench.Run(ctx, o)
	if len(result.Cells) == 0 {
		return err
	}
	// What was measured before something failed is worth seeing.
	if *output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return errors.Join(err, encoder.Encode(result), result.Missed())
	}
	fmt.Println(strings.TrimSpace("go run ./internal/eval/cmd/bench-turns " + strings.Join(os.Args[1:], " ")))
	return errors.Join(err, result.Print(os.Stdout), result.Missed())
}
