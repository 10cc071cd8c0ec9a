// Command cairn-bench runs the benchmarks and experiments of Cairn. Run it in a clone:
//
//	go run ./internal/lab/bench/cmd/cairn-bench NAME
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/speed"
)

func main() {
	speed.WorkIfAsked() // the sweep benchmark runs this program again as its worker
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, args []string, out, errs io.Writer) int {
	p := &program{args: args, out: out, errs: errs}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(ctx); err != nil {
		return cli.PrintError(errs, root.Name(), p.output, err)
	}
	return 0
}
