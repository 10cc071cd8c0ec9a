// Command bench-sweep measures the sweep over workspaces whose daily reflection
// is due at once: go run ./internal/eval/cmd/bench-sweep
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
	"cairn/internal/eval/sweepbench"
)

func main() {
	sweepbench.WorkIfAsked() // the bench runs this program again as its worker
	command.Run("bench-sweep", run)
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
	command.OwnServers()
	result, err := sweepbench.Run(ctx, o)
	if err != nil {
		return err
	}
	err = command.Print(*output, result, func(w io.Writer) error {
		fmt.Fprintln(w, command.Line("bench-sweep"))
		return result.Print(w)
	})
	if missed := result.Failures(); len(missed) > 0 {
		err = errors.Join(err, errors.New(strings.Join(missed, "; ")))
	}
	return err
}
