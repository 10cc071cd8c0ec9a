// Command bench-turns measures what turns cost beside their model calls:
// go run ./internal/eval/cmd/bench-turns. It fails when a goal is missed, and
// when it could not measure all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"cairn/internal/eval/command"
	"cairn/internal/eval/turnbench"
)

func main() { command.Run("bench-turns", run) }

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
	command.OwnServers()
	result, err := turnbench.Run(ctx, o)
	if len(result.Cells) == 0 {
		return err
	}
	// What was measured before something failed is worth seeing.
	shown := command.Print(*output, result, func(w io.Writer) error {
		fmt.Fprintln(w, command.Line("bench-turns"))
		return result.Print(w)
	})
	return errors.Join(err, shown, result.Missed())
}
