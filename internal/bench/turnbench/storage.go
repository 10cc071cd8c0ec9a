package turnbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"cairn/internal/bench/ground"
)

// Sizes of the measurement of storage.
const (
	storedTalks = 16 // conversations at once
	storedTurns = 20 // turns of each
	storedCalls = 2  // model calls of each turn
)

// bytesGoal is the most that a turn may leave in Postgres on average.
const bytesGoal = 15_000

// Storage is what a turn leaves in Postgres: the average of conversations with 20 turns of 2 calls.
type Storage struct {
	Turns int              `json:"turns"`
	Turn  ground.Footprint `json:"turn"`
}

// Store measures what a turn leaves in Postgres.
func Store(ctx context.Context, o Options) (out Storage, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := openLab(ctx, o)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	talking, err := l.open(ctx, storedTalks, 0)
	if err != nil {
		return out, err
	}
	if err := l.talk(ctx, talking, 1); err != nil { // tables get their first pages
		return out, err
	}
	before, err := ground.ReadFootprint(ctx, l.postgres.DatabaseURL())
	if err != nil {
		return out, err
	}
	if err := l.talk(ctx, talking, storedTurns-1); err != nil {
		return out, err
	}
	after, err := ground.ReadFootprint(ctx, l.postgres.DatabaseURL())
	if err != nil {
		return out, err
	}
	out.Turns = storedTalks * (storedTurns - 1)
	out.Turn = after.Since(before, out.Turns)
	return out, nil
}

// talk runs turns in each conversation.
func (l *lab) talk(ctx context.Context, talking []*thread, turns int) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range talking {
		group.Go(func() error {
			for range turns {
				if _, _, err := c.turn(ctx, storedCalls); err != nil {
					return err
				}
			}
			return c.settle(ctx)
		})
	}
	return group.Wait()
}

// Print writes the bytes of a turn by table, the largest first.
func (s Storage) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "table\tbytes per turn")
	tables := slices.SortedFunc(maps.Keys(s.Turn.Tables), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Turn.Tables[b], s.Turn.Tables[a]), cmp.Compare(a, b))
	})
	for _, table := range tables {
		fmt.Fprintf(tw, "%s\t%d\n", table, s.Turn.Tables[table])
	}
	fmt.Fprintf(tw, "all, goal ≤ %d\t%d\n", bytesGoal, s.Turn.Bytes())
	fmt.Fprintf(tw, "WAL\t%d\n", s.Turn.WAL)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the bytes: %w", err)
	}
	return nil
}

// Missed returns the missed goal, or nil.
func (s Storage) Missed() error {
	if n := s.Turn.Bytes(); n > bytesGoal {
		return fmt.Errorf("missed: a turn leaves %d bytes, the goal is %d", n, bytesGoal)
	}
	return nil
}
