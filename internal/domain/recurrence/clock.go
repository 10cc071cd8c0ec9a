package recurrence

import "time"

// clock is the wall clock of a zone. What it shows, a wall time, is a time.Time
// in UTC with the same year, month, day, hour, minute and second: there no time
// is missing or double, so that cron arithmetic on wall times is exact.
type clock struct{ zone *time.Location }

// farthest is more than any zone was ever ahead of UTC or behind it.
const farthest = 26 * time.Hour

// shows is the wall time at an instant.
func (c clock) shows(at time.Time) time.Time { return at.UTC().Add(c.offset(at)) }

// offset is how far the zone is ahead of UTC at an instant.
func (c clock) offset(at time.Time) time.Duration {
	_, seconds := at.In(c.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// bounds is a span around an instant, start ≤ at < end, in which the offset does
// not change. Zero means no bound. Neighbouring spans may have the same offset.
func (c clock) bounds(at time.Time) (start, end time.Time) {
	start, end = at.In(c.zone).ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		// By a zone's rule for the future Go ends every year after 365 days, so
		// that the last day of a leap year is beyond its own span.
		end = end.Add(24 * time.Hour)
	}
	return start, end
}

// reaches is the first instant, in UTC, at which the clock shows the wall time
// or a later one.
func (c clock) reaches(wall time.Time) time.Time {
	span := wall.Add(-farthest) // surely too early
	for {
		start, end := c.bounds(span)
		at := wall.Add(-c.offset(span))
		switch {
		case at.Before(start): // a gap: at start the clock is beyond it
			return start.UTC()
		case end.IsZero() || at.Before(end):
			return at
		}
		span = end
	}
}

// leavesOut reports whether the clock goes over the date from end to end.
func (c clock) leavesOut(d Date) bool {
	return d.Start(c.zone).Equal(d.AddDays(1).Start(c.zone))
}

// change is a moment at which the clock goes forward or back.
type change struct {
	at            time.Time
	before, after time.Duration // ahead of UTC
}

// nextChange is the first change after t, false when there is none before limit.
func (c clock) nextChange(t, limit time.Time) (change, bool) {
	span := t
	for {
		_, end := c.bounds(span)
		if end.IsZero() || end.After(limit) {
			return change{}, false
		}
		// A bound may be that of a name or of a year only.
		if before, after := c.offset(span), c.offset(end); before != after {
			return change{end.UTC(), before, after}, true
		}
		span = end
	}
}

// changeAround finds the change that makes what the clock shows at an instant
// come twice: the one behind it whose repetition it is in (again), or the one
// ahead that will repeat it.
func (c clock) changeAround(at time.Time) (found change, again, twice bool) {
	start, end := c.bounds(at)
	now := c.offset(at)
	if !start.IsZero() {
		before := c.offset(start.Add(-1))
		if at.Before(start.Add(before - now)) {
			return change{start.UTC(), before, now}, true, true
		}
	}
	if !end.IsZero() {
		after := c.offset(end)
		if !at.Before(end.Add(after - now)) {
			return change{end.UTC(), now, after}, false, true
		}
	}
	return change{}, false, false
}
