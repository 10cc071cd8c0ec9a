package speed

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// TokenContext is the context of the scripted model in tokens, and Largest the goal for a request.
const (
	TokenContext = 128_000
	TokenLargest = TokenContext * 3 / 4
)

// PrintTokens writes the rows as a table.
func PrintTokens(w io.Writer, rows []TokenRow) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(
		tw,
		"raw tokens T\ttasks\tcalls\tinput, no cache\t÷ T\tgoal\tlargest request\tcached share\tcost-weighted\t"+
			"÷ T\tgoal",
	)
	for _, r := range rows {
		input, weighted := r.Limit()
		fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%.2f\t%s\t%d\t%.0f %%\t%d\t%.2f\t%s\n", r.Raw, r.Tasks, r.Calls, r.Input,
			float64(r.Input)/float64(r.Raw), r.goal(input), r.Largest, 100*r.Cached, r.Weighted,
			float64(r.Weighted)/float64(r.Raw), r.goal(weighted))
	}
	return tw.Flush()
}

// goal returns a goal as text. The goals are for one task.
func (r TokenRow) goal(tokens int) string {
	if r.Tasks > 1 {
		return "-"
	}
	return fmt.Sprintf("≤ %d", tokens)
}

// Missed returns an error for each goal that a row misses, or nil.
func Missed(rows []TokenRow) error {
	var missed []error
	miss := func(r TokenRow, format string, args ...any) {
		missed = append(missed, fmt.Errorf("missed: T %d, %d tasks: %s", r.Raw, r.Tasks, fmt.Sprintf(format, args...)))
	}
	for _, r := range rows {
		input, weighted := r.Limit()
		if r.Tasks == 1 && r.Input > input {
			miss(r, "input %d, the goal is %d", r.Input, input)
		}
		if r.Tasks == 1 && r.Weighted > weighted {
			miss(r, "cost-weighted input %d, the goal is %d", r.Weighted, weighted)
		}
		if r.Largest > TokenLargest {
			miss(r, "a request of %d tokens, the goal is %d", r.Largest, TokenLargest)
		}
		if share := r.minCached(); r.Cached < share {
			miss(r, "cached share %.2f, the goal is %.2f", r.Cached, share)
		}
	}
	return errors.Join(missed...)
}

// minCached is the goal of the cached share. Instructions are most of the requests about a short conversation,
// and a task longer than a window is drafted from notes.
func (r TokenRow) minCached() float64 {
	switch {
	case r.Raw < 5_000 || r.Raw > TokenContext*3/5:
		return 0
	case r.Tasks >= 3:
		return .70
	}
	return .55
}
