package recurrence

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is an expression in a zone. Parse makes it; the zero value has no
// firings and must not be asked for them.
type Schedule struct {
	expression string
	clock      clock
	walls      *cron.SpecSchedule // wall times; nil with every
	every      time.Duration      // since the epoch; 0 with walls
}

// String is the expression, its fields separated by one space.
func (s Schedule) String() string { return s.expression }

// Zone is the time zone's name.
func (s Schedule) Zone() string { return s.clock.zone.String() }

// OncePerDate reports whether the schedule has one time of day, so that no local
// date has two firings.
func (s Schedule) OncePerDate() bool {
	return s.walls != nil && values(s.walls.Minute) == 1 && values(s.walls.Hour) == 1
}

// Next is the first firing after an instant, in UTC, and its local date: the
// date of the wall time that was meant. Behind a gap over midnight that is not
// the date which the clock shows at the firing, so a stored firing's date is what
// Next says of the instant right before it.
func (s Schedule) Next(after time.Time) (at time.Time, date Date) {
	at, wall := s.next(after)
	return at, DateOf(wall)
}

// Key names a firing among all of the schedule's: by its local date when no date
// has two, else by the minute in UTC.
func (s Schedule) Key(at time.Time, date Date) string {
	if s.OncePerDate() {
		return date.String()
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

// next also tells the wall time that was meant.
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

// nextPeriod counts whole periods since the epoch.
func (s Schedule) nextPeriod(after time.Time) time.Time {
	period := int64(s.every / time.Second)
	seconds := after.Unix()
	into := (seconds%period + period) % period // also before the epoch
	return time.Unix(seconds-into+period, 0).UTC()
}

// nextElapsed finds the next instant at which the clock shows one of the walls,
// for the first time or again.
func (s Schedule) nextElapsed(after time.Time) (at, wall time.Time) {
	span, from := after, s.clock.shows(after)
	for {
		_, end := s.clock.bounds(span)
		wall = s.nextWall(from)
		at = wall.Add(-s.clock.offset(span))
		if end.IsZero() || at.Before(end) {
			return at, wall
		}
		span, from = end, s.clock.shows(end).Add(-1) // what shows at the change itself counts
	}
}

// nextReached finds the next instant at which the clock reaches one of the walls.
func (s Schedule) nextReached(after time.Time) (at, wall time.Time) {
	// Walls up to here were reached by now. In the second pass of a doubled hour
	// some of the next ones were, too.
	wall = s.clock.shows(after)
	for {
		wall = s.nextWall(wall)
		at = s.clock.reaches(wall)
		if at.After(after) && !s.missing(at, wall) {
			break
		}
	}
	for later := wall; later.Before(s.clock.shows(at)); { // a gap: one firing stands for all that is in it
		if later = s.nextWall(later); !s.clock.reaches(later).Equal(at) {
			break
		}
		wall = later
	}
	return at, wall
}

// missing reports whether the wall is on a date that the zone leaves out.
func (s Schedule) missing(at, wall time.Time) bool {
	return !s.clock.shows(at).Equal(wall) && s.clock.leavesOut(DateOf(wall))
}

// nextWall is the first wall time of the expression after another.
func (s Schedule) nextWall(wall time.Time) time.Time {
	for {
		if next := s.walls.Next(wall); !next.IsZero() {
			return next
		}
		wall = wall.AddDate(4, 0, 0) // Next looks five years ahead; 29 February can be eight away
	}
}
