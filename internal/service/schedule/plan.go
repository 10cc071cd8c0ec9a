package schedule

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"cairn/internal/domain/recurrence"
)

// Verdict is what the claim found out about a task that came due.
type Verdict string

const (
	Again    Verdict = "again"     // a page took the slot before, and its lease ran out
	Unknown  Verdict = "plan"      // nobody has planned the task yet
	Idle     Verdict = "empty"     // there is nothing to do
	Repeated Verdict = "collapsed" // the date has its reflection already
	Off      Verdict = "off"       // the workspace wants none
	Recalled Verdict = "recalled"  // as Again, and the workspace wants none any more
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
	Held         Firing    // with Again and Recalled
	ReflectedTo  time.Time // watermark of the reflection; zero without one
	Quiet        QuietHours
	Unheard      bool // with Idle: a week of days was empty although people talked
	Verdict      Verdict
	Now          time.Time // the database's
}

// QuietHours are those of the workspace, and its zone, which need not be the
// task's.
type QuietHours struct{ From, To, Zone string }

// Firing is one time at which a task is due.
type Firing struct {
	At    time.Time
	Date  string // local, of the wall time that was meant
	Key   string
	Start time.Time // when the sweep looks at it; of a move's next firing it is set
}

// Advance is what the claim does to a task: its next firing, and the slot that came
// due unless the task was only planned, or its slot put off.
type Advance struct {
	Due     Due
	Next    Firing
	Slot    Firing
	Outcome string // empty when the slot is to be started
	Reason  string
}

// Start tells that the slot is held until it is started.
func (m Advance) Start() bool { return m.Slot.Key != "" && m.Outcome == "" }

// Planner decides about tasks that came due.
type Planner struct {
	// Jitter is within how much time after a firing the tasks that every workspace
	// has are started: they are due at the same minute for all of a zone. 0 is at once.
	Jitter time.Duration
}

// planner reads each expression of a page once.
type planner struct {
	Planner
	cadences map[[2]string]parsed
	quiet    map[QuietHours]quiet
}

type parsed struct {
	schedule recurrence.Schedule
	err      error
}

type quiet struct {
	hours recurrence.Quiet
	err   error
}

func (p planner) cadence(expression, zone string) (recurrence.Schedule, error) {
	key := [2]string{expression, zone}
	known, ok := p.cadences[key]
	if !ok {
		known.schedule, known.err = recurrence.Parse(expression, zone)
		p.cadences[key] = known
	}
	return known.schedule, known.err
}

func (p planner) hours(h QuietHours) (recurrence.Quiet, error) {
	known, ok := p.quiet[h]
	if !ok {
		known.hours, known.err = recurrence.ParseQuiet(h.From, h.To, h.Zone)
		p.quiet[h] = known
	}
	return known.hours, known.err
}

// Plan decides about a page of tasks; those that are held again stay as they are.
func (with Planner) Plan(page []Due) (moves []Advance, again []Due) {
	p := planner{with, map[[2]string]parsed{}, map[QuietHours]quiet{}}
	for _, d := range page {
		if m, decided := p.move(d); decided {
			moves = append(moves, m)
			continue
		}
		again = append(again, d)
	}
	return moves, again
}

// unreadable is how long a task whose expression or zone this machine does not
// know is left alone: another may know it tomorrow.
const unreadable = 24 * time.Hour

// move is false for a slot that is held again.
func (p planner) move(d Due) (Advance, bool) {
	s, err := p.cadence(d.Cron, d.Zone)
	q, unknown := p.hours(d.Quiet)
	if err = cmp.Or(err, unknown); err != nil {
		later := d.Now.Add(unreadable).UTC()
		return Advance{Due: d, Next: Firing{At: later, Date: later.Format(time.DateOnly),
			Key: later.Format(time.RFC3339), Start: later}, Slot: d.Next, Outcome: Failed, Reason: err.Error()}, true
	}
	m := Advance{Due: d, Next: p.planned(d, q, NextAfter(s, d.Now))}
	switch d.Verdict {
	case Unknown:
	case Idle:
		m.Slot, m.Outcome = d.Next, Empty
	case Repeated:
		m.Slot, m.Outcome, m.Reason = d.Next, Collapsed, "the date has its reflection already"
	case Off:
		m.Slot, m.Outcome, m.Reason = d.Next, Skipped, turnedOff
	case Recalled:
		m.Slot, m.Outcome, m.Reason = d.Held, Skipped, turnedOff
	case Again:
		if !q.Holds(d.Now) {
			return Advance{}, false
		}
		m.Next = d.Held
		m.Next.Start = p.within(d, q, q.After(d.Now))
	default:
		p.ready(&m, s, q)
	}
	return m, true
}

const turnedOff = "the workspace has turned it off: settings.reflection"

// ready decides about a firing that there is something to do for: it is put off,
// or stands for all that were missed in a row and is started or too late.
func (p planner) ready(m *Advance, s recurrence.Schedule, q recurrence.Quiet) {
	d := m.Due
	start := p.planned(d, q, d.Next).Start
	if q.Holds(d.Now) {
		start = p.within(d, q, q.After(d.Now))
	}
	if d.Now.Before(start) {
		m.Next = d.Next
		m.Next.Start = start
		return
	}
	m.Slot = latest(s, d.Next, d.Now, d.CatchUp)
	if late := d.Now.Sub(p.planned(d, q, m.Slot).Start); late > d.CatchUp {
		m.Outcome, m.Reason = Skipped, fmt.Sprintf("%s late, and the task catches up with %s", late.Round(time.Second),
			d.CatchUp)
	}
}

// planned says when a firing is looked at: after the quiet hours, and for the
// tasks of every workspace at the workspace's place in the jitter.
func (p planner) planned(d Due, q recurrence.Quiet, f Firing) Firing {
	f.Start = p.within(d, q, q.After(f.At))
	return f
}

// tell fills in when the next firing of a task is looked at.
func (with Planner) tell(t *Task) error {
	if t.DueAt == nil || t.StartsAt != nil || t.Off || t.PausedAt != nil {
		return nil
	}
	q, err := recurrence.ParseQuiet(t.Quiet.From, t.Quiet.To, t.Quiet.Zone)
	start := planner{Planner: with}.planned(Due{Kind: t.Kind, WorkspaceKey: t.WorkspaceKey}, q, Firing{At: *t.DueAt}).
		Start
	t.StartsAt = &start
	return err
}

// within spreads starts over the jitter, the same place for a workspace every
// time, and not into the quiet hours.
func (p planner) within(d Due, q recurrence.Quiet, from time.Time) time.Time {
	room := p.Jitter
	if room <= 0 || d.Kind == Turn { // a person chose the time of a prompt
		return from
	}
	if !q.None() {
		room = min(room, q.Next(from).Sub(from))
	}
	h := fnv.New64a()
	h.Write([]byte(d.WorkspaceKey))
	const places = 1 << 16
	return from.Add(time.Duration(h.Sum64()%places) * room / places).Truncate(time.Microsecond)
}

// NextAfter is a schedule's first firing after an instant.
func NextAfter(s recurrence.Schedule, after time.Time) Firing {
	at, date := s.Next(after)
	return Firing{At: at, Date: date.String(), Key: s.Key(at, date)}
}

// latest is the last firing that has come, of those that were missed in a row:
// one stands for all. When none of the catch-up's has, it is the first.
func latest(s recurrence.Schedule, due Firing, now time.Time, catchUp time.Duration) Firing {
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
