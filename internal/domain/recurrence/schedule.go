package recurrence

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is an expression in a zone. Parse creates it. The zero value has no firings, and its
// methods must not be called.
type Schedule struct {
	expression string
	clock      clock
	walls      *cron.SpecSchedule // wall times; nil if every is set
	every      time.Duration      // since the epoch; 0 if walls is set
}

// String returns the expression with its fields separated by one space.
func (s Schedule) String() string { return s.expression }

// Zone returns the name of the time zone.
func (s Schedule) Zone() string { return s.clock.zone.String() }

// OncePerDate reports whether the schedule has one time of day, so that no local date has two
// firings.
func (s Schedule) OncePerDate() bool {
	return s.walls != nil && values(s.walls.Minute) == 1 && values(s.walls.Hour) == 1
}

// Next returns the first firing after an instant, in UTC, and the date of its scheduled wall time.
// After a gap over midnight, that date differs from the date of the clock. To recompute the date of
// a stored firing, call Next with the instant directly before it.
func (s Schedule) Next(after time.Time) (at time.Time, date Date) {
	at, wall := s.next(after)
	return at, DateOf(wall)
}

// Key identifies a firing of the schedule: by its local date if no date has two firings, else by
// its minute in UTC.
func (s Schedule) Key(at time.Time, date Date) string {
	if s.OncePerDate() {
		return date.String()
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

// next also returns the scheduled wall time.
func (s Schedule) next(after time.Time) (at, wall time.Time) {
	switch {
	case s.every != 0:
		at = s.nextPeriod(after)
		return at, s.clock.shows(at)
	case s.everyHour():
		return s.nextElapsed(after)
	default:
		return s.nextReached(after)
	}
}

func (s Schedule) everyHour() bool { return values(s.walls.Hour) == 24 }

// nextPeriod returns the end of the current period since the epoch.
func (s Schedule) nextPeriod(after time.Time) time.Time {
	period := int64(s.every / time.Second)
	seconds := after.Unix()
	into := (seconds%period + period) % period // also correct before the epoch
	return time.Unix(seconds-into+period, 0).UTC()
}

// nextElapsed returns the next instant at which the clock shows one of the walls, including
// repetitions.
func (s Schedule) nextElapsed(after time.Time) (at, wall time.Time) {
	span, from := after, s.clock.shows(after)
	for {
		_, end := s.clock.bounds(span)
		wall = s.nextWall(from)
		at = wall.Add(-s.clock.offset(span))
		if end.IsZero() || at.Before(end) {
			return at, wall
		}
		span, from = end, s.clock.shows(end).Add(-1) // includes the wall time at the change itself
	}
}

// nextReached returns the next instant at which the clock reaches one of the walls.
func (s Schedule) nextReached(after time.Time) (at, wall time.Time) {
	// The clock has already reached the walls up to here. In the second pass of a repeated hour, it
	// has also reached some of the next ones.
	wall = s.clock.shows(after)
	for {
		wall = s.nextWall(wall)
		at = s.clock.reaches(wall)
		if at.After(after) && !s.missing(at, wall) {
			break
		}
	}
	for later := wall; later.Before(s.clock.shows(at)); { // a gap: one firing replaces all firings in it
		if later = s.nextWall(later); !s.clock.reaches(later).Equal(at) {
			break
		}
		wall = later
	}
	return at, wall
}

// missing reports whether the wall is on a date that the zone skips.
func (s Schedule) missing(at, wall time.Time) bool {
	return !s.clock.shows(at).Equal(wall) && s.clock.leavesOut(DateOf(wall))
}

// nextWall returns the next wall time of the expression.
func (s Schedule) nextWall(wall time.Time) time.Time {
	for {
		if next := s.walls.Next(wall); !next.IsZero() {
			return next
		}
		wall = wall.AddDate(4, 0, 0) // cron.Next searches five years; 29 February can be eight years away
	}
}
