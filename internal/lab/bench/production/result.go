package production

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"cairn/internal/lab/bench/ground"
)

// Result holds what was observed.
type Result struct {
	Rows     []Row         `json:"rows"`
	Findings []string      `json:"findings"` // details of misses
	Servers  []string      `json:"servers"`  // versions
	Total    time.Duration `json:"total_ns"`
}

// Row is one condition that a step must hold.
type Row struct {
	Step     int    `json:"step"`
	What     string `json:"what"` // what happens in the step
	Must     string `json:"must_hold"`
	Observed string `json:"observed"`
	Held     bool   `json:"held"`
}

// Held reports whether all conditions held.
func (r Result) Held() bool {
	for _, row := range r.Rows {
		if !row.Held {
			return false
		}
	}
	return len(r.Rows) > 0
}

// Print writes a table.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step\tmust hold\tobserved\t")
	step := 0
	for _, row := range r.Rows {
		if row.Step != step {
			step = row.Step
			fmt.Fprintf(tw, "%d\t%s\t\t\n", step, row.What)
		}
		verdict := "pass"
		if !row.Held {
			verdict = "MISS"
		}
		fmt.Fprintf(tw, "\t%s\t%s\t%s\n", row.Must, row.Observed, verdict)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	fmt.Fprintf(w, "\n%s\ntotal %s\n", strings.Join(r.Servers, " · "), ground.Seconds(r.Total))
	ground.PrintFindings(w, r.Findings)
	return nil
}

// sheet collects the rows of a step.
type sheet struct {
	e    *experiment
	step step
}

// row adds a condition.
func (s sheet) row(held bool, must, observed string, args ...any) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.result.Rows = append(s.e.result.Rows, Row{Step: s.step.Number, What: s.step.What, Must: must,
		Observed: fmt.Sprintf(observed, args...), Held: held})
}

// none adds a condition that a list of findings is empty, and keeps the findings.
func (s sheet) none(findings []string, must, observed string, args ...any) {
	s.row(len(findings) == 0, must, observed, args...)
	s.found(findings...)
}

// found keeps details.
func (s sheet) found(findings ...string) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	for _, f := range findings {
		s.e.result.Findings = append(s.e.result.Findings, fmt.Sprintf("step %d: %s", s.step.Number, f))
	}
}
