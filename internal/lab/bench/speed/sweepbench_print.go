package speed

import (
	"fmt"
	"io"
)

// Failures returns the missed goals.
func (r SweepResult) Failures() (out []string) {
	if r.Ratio < GoalStarts {
		out = append(out, fmt.Sprintf("ratio of starts to bare starts is %.2f, the goal is %.2f", r.Ratio, GoalStarts))
	}
	if r.Growth > GoalMemory || r.Growth < -GoalMemory {
		out = append(out, fmt.Sprintf("the worker's memory changed by %.0f %%, the goal is %.0f %%", 100*r.Growth,
			100*GoalMemory))
	}
	return append(out, r.Lost()...)
}

// Lost returns missed, duplicated and wrong entries. It must be empty on any machine.
func (r SweepResult) Lost() (out []string) {
	for what, n := range map[string]int{"reflections are missing": r.Missed,
		"reflections were started twice or without messages": r.Doubled,
		"tasks or days are in a wrong state":                 r.Wrong} {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	return out
}

// Print writes the result as a table.
func (r SweepResult) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d workspaces due at once, %d with conversations
  sweep                         %.1f s, %.0f workspaces a second
  starts while starting         %.0f a second
  starts over the whole sweep   %.0f a second
  bare starts                   %.0f a second, before and after
  ratio to bare starts          %.2f (goal %.2f)
  worker's memory               %.1f MiB in the first tenth, %.1f MiB in the last: %+.0f %% (goal %.0f %%)
  with %d kills of the worker    %.1f s
  missed %d, doubled %d, wrong rows %d, over both sweeps (goal 0)
`, r.Workspaces, r.Talking, float64(r.Sweep), r.PerSecond, r.Starts, r.Overall, r.Bare, r.Ratio, GoalStarts,
		float64(r.First)/(1<<20), float64(r.Last)/(1<<20), 100*r.Growth, 100*GoalMemory, r.Kills, float64(r.Disturbed),
		r.Missed, r.Doubled, r.Wrong)
	return err
}
