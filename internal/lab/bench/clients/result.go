package clients

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Results of a call.
const (
	OK            = "ok"
	Failed        = "FAILED"
	NotApplicable = "n/a" // needs a feature that Cairn does not have, by design
	NotOffered    = "501" // a call that Cairn refuses with a hint, as it documents
)

// Row is the result of one call of one client.
type Row struct {
	Client string
	Call   string
	State  string
	Took   time.Duration
	Detail string
}

// Result holds the results of all calls.
type Result struct {
	Rows    []Row
	Clients int // number of clients that must run
}

// Held reports whether no call failed and every client ran.
func (r Result) Held() bool {
	seen := map[string]bool{}
	for _, row := range r.Rows {
		if row.State == Failed {
			return false
		}
		seen[row.Client] = true
	}
	return len(seen) == r.Clients
}

// Print writes the results as a table.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "client\tcall\tresult\tms\t")
	count := map[string]int{}
	for _, row := range r.Rows {
		count[row.State]++
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\n", row.Client, row.Call, row.State, row.Took.Milliseconds(), row.Detail)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d ok, %d not offered as expected, %d not applicable, %d failed\n", count[OK],
		count[NotOffered], count[NotApplicable], count[Failed])
	return err
}

// of returns the rows of a client, ordered by call.
func (r Result) of(client string) (out []Row) {
	for _, row := range r.Rows {
		if row.Client == client {
			out = append(out, row)
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(a.Call, b.Call) })
	return out
}

// timed runs a call and returns its row.
func timed(client, call string, work func() (detail string, err error)) Row {
	began := time.Now()
	detail, err := work()
	row := Row{Client: client, Call: call, State: OK, Took: time.Since(began), Detail: detail}
	if err != nil {
		row.State, row.Detail = Failed, err.Error()
	}
	return row
}
