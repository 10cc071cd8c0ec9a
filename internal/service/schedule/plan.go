package schedule

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
)

// Planner plans due tasks.
type Planner struct {
	// Jitter is the period after a firing over which built-in tasks are started, because all
	// workspaces of a zone are due in the same minute. 0 starts them at once.
	Jitter time.Duration
}

// planner caches the parsed expressions of a page.
type planner struct {
	Planner
	cadences map[[2]string]parsed
	quiet    map[scheduled.QuietHours]quiet
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

func (p planner) hours(h scheduled.QuietHours) (recurrence.Quiet, error) {
	known, ok := p.quiet[h]
	if !ok {
		known.hours, known.err = recurrence.ParseQuiet(h.From, h.To, h.Zone)
		p.quiet[h] = known
	}
	return known.hours, known.err
}

// Plan plans a page of tasks. Again contains those that are claimed again unchanged.
func (with Planner) Plan(page []scheduled.Due) (moves []scheduled.Advance, again []scheduled.Due) {
	p := planner{with, map[[2]string]parsed{}, map[scheduled.QuietHours]quiet{}}
	for _, d := range page {
		if m, decided := p.move(d); decided {
			moves = append(moves, m)
			continue
		}
		again = append(again, d)
	}
	return moves, again
}

// unreadable is the delay before a task with an unknown expression or time zone is tried again,
// because another machine may know it.
const unreadable = 24 * time.Hour

// move returns false for a slot that is claimed again.
func (p planner) move(d scheduled.Due) (scheduled.Advance, bool) {
	s, err := p.cadence(d.Cron, d.Zone)
	q, unknown := p.hours(d.Quiet)
	if err = cmp.Or(err, unknown); err != nil {
		later := d.Now.Add(unreadable).UTC()
		return scheduled.Advance{Due: d, Next: scheduled.Firing{At: later, Date: later.Format(time.DateOnly),
			Key: later.Format(time.RFC3339), Start: later}, Slot: d.Next, Outcome: Failed, Reason: err.Error()}, true
	}
	m := scheduled.Advance{Due: d, Next: p.planned(d, q, scheduled.NextAfter(s, d.Now))}
	switch d.Verdict {
	case scheduled.Unknown:
	case scheduled.Idle:
		m.Slot, m.Outcome = d.Next, scheduled.Empty
	case scheduled.Repeated:
		m.Slot, m.Outcome, m.Reason = d.Next, Collapsed, "date already has a reflection"
	case scheduled.Off:
		m.Slot, m.Outcome, m.Reason = d.Next, Skipped, turnedOff
	case scheduled.Recalled:
		m.Slot, m.Outcome, m.Reason = d.Held, Skipped, turnedOff
	case scheduled.Again:
		if !q.Holds(d.Now) {
			return scheduled.Advance{}, false
		}
		m.Next = d.Held
		m.Next.Start = p.within(d, q, q.After(d.Now))
	default:
		p.ready(&m, s, q)
	}
	return m, true
}

const turnedOff = "disabled by the setting reflection"

// ready decides about a firing with work to do. It is deferred, started in place of all missed
// firings, or skipped as too late.
func (p planner) ready(m *scheduled.Advance, s recurrence.Schedule, q recurrence.Quiet) {
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
		m.Outcome, m.Reason = Skipped, fmt.Sprintf("%s late, the catch-up is %s", late.Round(time.Second), d.CatchUp)
	}
}

// planned returns the firing with its start: after the quiet hours and, for built-in tasks, with
// the jitter of the workspace.
func (p planner) planned(d scheduled.Due, q recurrence.Quiet, f scheduled.Firing) scheduled.Firing {
	f.Start = p.within(d, q, q.After(f.At))
	return f
}

// tell sets the start of a task's next firing.
func (with Planner) tell(t *scheduled.Task) error {
	if t.DueAt == nil || t.StartsAt != nil || t.Off || t.PausedAt != nil {
		return nil
	}
	q, err := recurrence.ParseQuiet(t.Quiet.From, t.Quiet.To, t.Quiet.Zone)
	start := planner{Planner: with}.planned(scheduled.Due{Kind: t.Kind, WorkspaceKey: t.WorkspaceKey}, q,
		scheduled.Firing{At: *t.DueAt}).
		Start
	t.StartsAt = &start
	return err
}

// within adds the jitter, which is constant per workspace and does not extend into the quiet hours.
func (p planner) within(d scheduled.Due, q recurrence.Quiet, from time.Time) time.Time {
	room := p.Jitter
	if room <= 0 || d.Kind == scheduled.Turn { // the time of a prompt is exact
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

// latest returns the latest of the missed firings, which replaces all of them. If none is within
// the catch-up, it returns the first.
func latest(s recurrence.Schedule, due scheduled.Firing, now time.Time, catchUp time.Duration) scheduled.Firing {
	last := due
	if now.Sub(due.At) > catchUp {
		if last = scheduled.NextAfter(s, now.Add(-catchUp-1)); last.At.After(now) {
			return due
		}
	}
	for next := scheduled.NextAfter(s, last.At); !next.At.After(now); next = scheduled.NextAfter(s, last.At) {
		last = next
	}
	return last
}
