package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Cell is the result of one kind of turn under one load.
type Cell struct {
	AtOnce    int           `json:"at_once"`
	Calls     int           `json:"calls"` // model calls; 0 means the bare turn
	Turns     int           `json:"turns"` // number of measured turns
	Median    time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"` // the slowest turn if there are few
	Parts     Parts         `json:"parts"`  // mean
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"worker_cpu_ns"` // per turn; not for bare turns, which this process runs
	// of a median turn, in its history and its conversation's; 0 if not counted
	Events     int `json:"events"`
	MostEvents int `json:"most_events"` // maximum of all turns

	all    []Parts
	took   time.Duration
	cpu    time.Duration
	counts []int // events of each counted turn
}

// Result holds all cells: loads in order, and the bare turn first in each.
type Result struct {
	Cells []Cell
	Reply time.Duration
	Took  time.Duration
}

// RunTurns measures the cost of turns in addition to their model calls, as ratios
// within one run on one machine:
//
//   - overhead: the time from a message to its reply, without the time of the model server. It
//     is divided by the time of a bare turn: an Update-with-Start of a workflow that starts one
//     child. Both have no effects, but the same options and search attributes, and they run
//     on the same server;
//   - events in the histories of a turn and of its conversation;
//   - turns per second, and CPU time of the worker per turn.
//
// Turns have one, two or four model calls; between two calls the model searches the memories.
// The load is 1, 16 or 64 parallel conversations. The kinds of turns alternate in rounds, so
// other load on the machine affects all of them equally. The worker is a separate process;
// Postgres commits to disk; Temporal stores its state in memory.
func RunTurns(ctx context.Context, o Options) (Result, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := turnOpenLab(ctx, o)
	if err != nil {
		return Result{}, err
	}
	out := Result{Reply: o.Reply}
	for _, load := range o.Loads {
		var cells []Cell
		cells, err = l.measure(ctx, load)
		out.Cells = append(out.Cells, cells...)
		if err != nil {
			break
		}
	}
	err = errors.Join(err, l.close())
	out.Took = time.Since(began)
	return out, err
}

// measure runs all kinds of turns in rounds under one load. If it fails, it also returns the
// results so far.
func (l *turnLab) measure(ctx context.Context, load Load) ([]Cell, error) {
	fmt.Fprintf(l.options.Log, "bench: %d parallel conversations\n", load.AtOnce)
	cells := []Cell{{AtOnce: load.AtOnce}}
	for _, calls := range l.options.Calls {
		cells = append(cells, Cell{AtOnce: load.AtOnce, Calls: calls})
	}
	var err error
	for series := 0; series < load.Series && err == nil; series++ {
		err = l.series(ctx, load, series, cells)
	}
	measured := cells[:0]
	for _, c := range cells {
		if len(c.all) > 0 {
			measured = append(measured, c.sum())
		}
	}
	return measured, err
}

// series runs all rounds with new conversations.
func (l *turnLab) series(ctx context.Context, load Load, series int, cells []Cell) error {
	talking, err := l.open(ctx, load.AtOnce, series)
	if err != nil {
		return err
	}
	for _, warm := range cells[:2] {
		if err := l.phase(ctx, &Cell{AtOnce: warm.AtOnce, Calls: warm.Calls}, talking, turnWarmUp); err != nil {
			return err
		}
	}
	return l.rounds(ctx, load, cells, talking)
}

func (l *turnLab) rounds(ctx context.Context, load Load, cells []Cell, talking []*thread) error {
	for round := range load.Rounds {
		for i := range cells {
			if err := l.phase(ctx, &cells[i], talking, load.Turns); err != nil {
				return fmt.Errorf("round %d of %d with %d conversations: %w", round+1, load.Rounds, load.AtOnce, err)
			}
		}
	}
	return nil
}

// phase runs turns of one kind in each conversation. With one conversation, it also counts the
// events of each turn.
func (l *turnLab) phase(ctx context.Context, cell *Cell, talking []*thread, turns int) error {
	before, err := l.worker.CPU()
	if err != nil {
		return err
	}
	began := time.Now()
	parts, workflows := make([][]Parts, len(talking)), make([][]string, len(talking))
	group, talk := errgroup.WithContext(ctx)
	for i, c := range talking {
		group.Go(func() error {
			for range turns {
				p, workflow, err := c.one(talk, cell.Calls)
				if err != nil {
					return err
				}
				parts[i] = append(parts[i], p)
				if p.Overhead() > stuck {
					c.tellStory(talk, cell.Calls, workflow, p)
				}
				workflows[i] = append(workflows[i], workflow)
			}
			return c.settle(talk)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	cell.took += time.Since(began)
	after, err := l.worker.CPU()
	if err != nil {
		return err
	}
	cell.cpu += after - before
	cell.all = append(cell.all, slices.Concat(parts...)...)
	if len(talking) == 1 {
		return cell.countEvents(ctx, talking[0], workflows[0])
	}
	return nil
}

// stuck is longer than a turn takes on a busy machine. A slower turn waits for a timeout, and is
// reported with its histories.
const stuck = 15 * time.Second

// one runs a turn of either kind.
func (c *thread) one(ctx context.Context, calls int) (p Parts, workflow string, err error) {
	if calls > 0 {
		return c.turn(ctx, calls)
	}
	began := time.Now()
	workflow, err = c.bareTurn(ctx)
	p.Answer = time.Since(began)
	return p, workflow, err
}

// countEvents counts the events of turns: those of their own histories and their share of the
// conversation's history.
func (cell *Cell) countEvents(ctx context.Context, c *thread, turns []string) error {
	parent := c.workflowID(cell.Calls == 0)
	all, err := c.events(ctx, parent)
	if err != nil {
		return err
	}
	before := c.counted[parent]
	c.counted[parent] = all
	if before == 0 { // the first turn also starts the conversation
		return nil
	}
	share := (all - before + len(turns) - 1) / len(turns)
	for _, turn := range turns {
		own, err := c.events(ctx, turn)
		if err != nil {
			return err
		}
		cell.counts = append(cell.counts, share+own)
	}
	return nil
}

// sum computes the results from all turns.
func (cell Cell) sum() Cell {
	n := len(cell.all)
	over := make([]time.Duration, n)
	for i, p := range cell.all {
		over[i] = p.Overhead()
		cell.Parts.Accept += p.Accept / time.Duration(n)
		cell.Parts.Answer += p.Answer / time.Duration(n)
		cell.Parts.Model += p.Model / time.Duration(n)
	}
	slices.Sort(over)
	cell.Turns, cell.Median, cell.P99 = n, over[n/2], over[min(n-1, n*99/100)]
	cell.PerSecond = float64(n) / cell.took.Seconds()
	if cell.Calls > 0 {
		cell.CPU = cell.cpu / time.Duration(n)
	}
	if counted := len(cell.counts); counted > 0 {
		slices.Sort(cell.counts)
		cell.Events, cell.MostEvents = cell.counts[counted/2], cell.counts[counted-1]
	}
	return cell
}
