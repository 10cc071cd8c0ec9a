package schedule

import (
	"fmt"
	"time"

	"cairn/internal/cadence"
)

// Verdict is what the claim found out about a task that came due.
type Verdict string

const (
	Again    Verdict = "again"     // a page took the slot before, and its lease ran out
	Unknown  Verdict = "plan"      // nobody has planned the task yet
	Idle     Verdict = "empty"     // there is nothing to do
	Repeated Verdict = "collapsed" // the date has its reflection already
	Ready    Verdict = "start"
)

// Due is a task that came due, as the claim sees it.
type Due struct {
	Workspace    int64
	WorkspaceKey string
	Task         int64
	Kind         Kind
	Cron, Zone   string
	CatchUp      time.Duration
	Next         Firing    // that came due
	Held         Firing    // with Again
	ReflectedTo  time.Time // watermark of the reflection; zero without one
	Verdict      Verdict
	Now          time.Time // the database's
}

// Firing is one time at which a task is due.
type Firing struct {
	At   time.Time
	Date string // local, of the wall time that was meant
	Key  string
}

// Move is what the claim does to a task: its next firing, and the slot that came
// due unless the task was only planned.
type Move struct {
	Due     Due
	Next    Firing
	Slot    Firing
	Outcome string // empty when the slot is to be started
	Reason  string
}

// Start tells that the slot is held until it is started.
func (m Move) Start() bool { return m.Slot.Key != "" && m.Outcome == "" }

// planner reads each expression of a page once.
type planner map[[2]string]parsed

type parsed struct {
	schedule cadence.Schedule
	err      error
}

func (p planner) cadence(expression, zone string) (cadence.Schedule, error) {
	key := [2]string{expression, zone}
	known, ok := p[key]
	if !ok {
		known.schedule, known.err = cadence.Parse(expression, zone)
		p[key] = known
	}
	return known.schedule, known.err
}

// Plan decides about a page of tasks; those that are held again stay as they are.
func Plan(page []Due) (moves []Move, again []Due) {
	p := planner{}
	for _, d := range page {
		if d.Verdict == Again {
			again = append(again, d)
			continue
		}
		moves = append(moves, p.move(d))
	}
	return moves, again
}

// unreadable is how long a task whose expression or zone this machine does not
// know is left alone: another may know it tomorrow.
const unreadable = 24 * time.Hour

func (p planner) move(d Due) Move {
	s, err := p.cadence(d.Cron, d.Zone)
	if err != nil {
		later := d.Now.Add(unreadable).UTC()
		return Move{Due: d, Next: Firing{later, later.Format(time.DateOnly), later.Format(time.RFC3339)}, Slot: d.Next, Outcome: Failed, Reason: err.Error()}
	}
	m := Move{Due: d, Next: NextAfter(s, d.Now)}
	switch d.Verdict {
	case Unknown:
	case Idle:
		m.Slot, m.Outcome = d.Next, Empty
	case Repeated:
		m.Slot, m.Outcome, m.Reason = d.Next, Collapsed, "the date has its reflection already"
	default:
		m.Slot = latest(s, d.Next, d.Now, d.CatchUp)
		if late := d.Now.Sub(m.Slot.At); late > d.CatchUp {
			m.Outcome, m.Reason = Skipped, fmt.Sprintf("%s late, and the task catches up with %s", late.Round(time.Second), d.CatchUp)
		}
	}
	return m
}

// NextAfter is a schedule's first firing after an instant.
func NextAfter(s cadence.Schedule, after time.Time) Firing {
	at, date := s.Next(after)
	return Firing{at, date.String(), s.Key(at, date)}
}

// latest is the last firing that has come, of those that were missed in a row:
// one stands for all. When none of the catch-up's has, it is the first.
func latest(s cadence.Schedule, due Firing, now time.Time, catchUp time.Duration) Firing {
	last := due
	if now.Sub(due.At) > catchUp {
		if last = NextAfter(s, now.Add(-catchUp-1)); last.At.After(now) {
			return due
		}
	}
	for next := NextAfter(s, last.At); !next.At.After(now); next = NextAfter(s, last.At) {
		last = next
	}
	return last
}
