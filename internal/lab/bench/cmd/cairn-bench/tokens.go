package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/tempcairn"
)

// tokensLimit bounds the benchmark.
const tokensLimit = 10 * time.Minute

func (p *program) tokens() *cobra.Command {
	return p.benchmark(&cobra.Command{
		Use: "tokens", Short: "Count the tokens that distillations send, with and without a cache",
		Example: "  cairn-bench tokens -o json",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, tokensLimit)
		defer cancel()
		h, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{}, p.errs)
		if err != nil {
			return err
		}
		defer done()
		l := speed.TokenLab{Store: h.Store, Log: p.errs}
		var rows []speed.TokenRow
		for _, s := range speed.Samples() {
			row, err := l.Measure(ctx, s)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		shown := p.measured(rows, func(w io.Writer) error { return speed.PrintTokens(w, rows) })
		return errors.Join(shown, missed(speed.Missed(rows)))
	})
}
