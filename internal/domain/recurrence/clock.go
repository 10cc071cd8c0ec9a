package recurrence

import "time"

// clock is the wall clock of a zone. A wall time is a time.Time in UTC with the same year, month,
// day, hour, minute and second. In UTC no time is missing or repeated, so cron arithmetic on wall
// times is exact.
type clock struct{ zone *time.Location }

// farthest exceeds the largest UTC offset of any zone.
const farthest = 26 * time.Hour

// shows returns the wall time at an instant.
func (c clock) shows(at time.Time) time.Time { return at.UTC().Add(c.offset(at)) }

// offset returns the UTC offset of the zone at an instant.
func (c clock) offset(at time.Time) time.Duration {
	_, seconds := at.In(c.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// bounds returns a span around an instant, start ≤ at < end, with a constant offset. Zero means no
// bound. Adjacent spans can have the same offset.
func (c clock) bounds(at time.Time) (start, end time.Time) {
	start, end = at.In(c.zone).ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		// For future years, package time ends the span of a year after 365 days. The last day of a
		// leap year is then outside its span.
		end = end.Add(24 * time.Hour)
	}
	return start, end
}

// reaches returns the first instant, in UTC, at which the clock shows the wall time or a later one.
func (c clock) reaches(wall time.Time) time.Time {
	span := wall.Add(-farthest) // certainly too early
	for {
		start, end := c.bounds(span)
		at := wall.Add(-c.offset(span))
		switch {
		case at.Before(start): // a gap: at start the clock already shows a later time
			return start.UTC()
		case end.IsZero() || at.Before(end):
			return at
		}
		span = end
	}
}

// leavesOut reports whether the clock skips the entire date.
func (c clock) leavesOut(d Date) bool {
	return d.Start(c.zone).Equal(d.AddDays(1).Start(c.zone))
}

// change is an instant at which the clock moves forward or back.
type change struct {
	at            time.Time
	before, after time.Duration // UTC offsets
}

// nextChange returns the first change after t, and false if there is none before limit.
func (c clock) nextChange(t, limit time.Time) (change, bool) {
	span := t
	for {
		_, end := c.bounds(span)
		if end.IsZero() || end.After(limit) {
			return change{}, false
		}
		// A bound can be a change of the zone's name, or of the year only.
		if before, after := c.offset(span), c.offset(end); before != after {
			return change{end.UTC(), before, after}, true
		}
		span = end
	}
}

// changeAround finds the change that repeats the wall time of an instant. again means that the
// change is past and the instant is in the repetition; otherwise the change is ahead.
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
