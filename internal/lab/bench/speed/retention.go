package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/bench/ground"
)

// Retention sets the size of a measurement of retention.
type Retention struct {
	Days  int // simulated: after each, records of earlier days are removed
	Turns int // of a day, in conversations of 20 turns
}

// pruned are the tables whose rows are removed after their retention.
var pruned = []string{"llm_calls", "request_parts", "agent_steps", "agent_calls", "tool_op_log"}

// Day is the size of the tables in bytes at the end of a simulated day, after a vacuum.
type Day struct {
	Turns  int   `json:"turns"`  // so far
	Pruned int64 `json:"pruned"` // of tables whose rows are removed
	Runs   int64 `json:"runs"`   // which keep a short row
	Others int64 `json:"others"` // conversations, memories and their search documents
}

// Retain runs days of turns. At the end of a day, it removes the records that are older than that day,
// as a worker does with a retention of a day, and measures the tables.
func Retain(ctx context.Context, o Options, r Retention) (days []Day, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := turnOpenLab(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for day := range r.Days {
		began := time.Now()
		for done := 0; done < r.Turns; {
			talking, err := l.open(ctx, min(storedTalks, (r.Turns-done+storedTurns-1)/storedTurns), day*r.Turns+done)
			if err != nil {
				return days, err
			}
			if err := l.talk(ctx, talking, storedTurns); err != nil {
				return days, err
			}
			done += len(talking) * storedTurns
		}
		if err := l.endDay(ctx, time.Since(began)); err != nil {
			return days, err
		}
		f, err := ground.ReadFootprint(ctx, l.postgres.DatabaseURL())
		if err != nil {
			return days, err
		}
		days = append(days, dayOf(f, r.Turns*(day+1)))
		fmt.Fprintf(o.Log, "bench: day %d of %d\n", day+1, r.Days)
	}
	return days, nil
}

func dayOf(f ground.Footprint, turns int) Day {
	out := Day{Turns: turns, Runs: f.Tables["runs"], Others: f.Bytes() - f.Tables["runs"]}
	for _, table := range pruned {
		out.Pruned += f.Tables[table]
	}
	out.Others -= out.Pruned
	return out
}

// endDay removes what is older than keep, in place of days that pass.
func (l *turnLab) endDay(ctx context.Context, keep time.Duration) error {
	conn, err := pgx.Connect(ctx, l.postgres.DatabaseURL())
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "update cairn.request_parts set used_on = used_on - 2 where not exists (select from "+
		"cairn.llm_calls c where c.workspace_id = request_parts.workspace_id and c.created_at > now() - $1::interval)",
		keep); err != nil {
		return fmt.Errorf("age the parts of requests: %w", err)
	}
	for _, prune := range []string{"prune_calls", "prune_runs", "prune_operations"} {
		for n := 1; n > 0; {
			if err := conn.QueryRow(ctx, "select cairn."+prune+"($1::interval, 1000)", keep).Scan(&n); err != nil {
				return fmt.Errorf("run %s: %w", prune, err)
			}
		}
	}
	return nil
}

// PrintDays writes the sizes of the tables by day.
func PrintDays(w io.Writer, days []Day) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "turns\tcalls, steps, operations\truns\tconversations, search")
	for _, d := range days {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", d.Turns, megabytes(d.Pruned), megabytes(d.Runs), megabytes(d.Others))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the sizes: %w", err)
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// DaysMissed returns an error if the tables still grow: if those whose rows are removed are more than a
// fifth larger at the end than in the middle.
func DaysMissed(days []Day) error {
	middle, last := days[len(days)/2].Pruned, days[len(days)-1].Pruned
	if last > middle*6/5 {
		return fmt.Errorf("missed: the pruned tables grew from %s to %s", megabytes(middle), megabytes(last))
	}
	return nil
}
