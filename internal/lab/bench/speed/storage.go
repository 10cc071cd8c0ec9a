package speed

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"cairn/internal/lab/bench/ground"
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
	l, err := turnOpenLab(ctx, o)
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
func (l *turnLab) talk(ctx context.Context, talking []*thread, turns int) error {
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
	if err := s.Turn.Print(w, "turn"); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "goal: at most %d bytes\n", bytesGoal)
	return err
}

// Missed returns the missed goal, or nil.
func (s Storage) Missed() error {
	if n := s.Turn.Bytes(); n > bytesGoal {
		return fmt.Errorf("missed: a turn leaves %d bytes, the goal is %d", n, bytesGoal)
	}
	return nil
}
