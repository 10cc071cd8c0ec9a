package recurrence

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
)

// Quiet is a daily period on the wall clock of a zone. The zero value is no quiet hours.
type Quiet struct {
	clock    clock
	from, to time.Duration // since midnight, from included; if from > to, the period spans midnight
}

// ParseQuiet parses times of day such as 22:00 and 07:00. If both are empty, there are no quiet
// hours.
func ParseQuiet(from, to, zone string) (Quiet, error) {
	if from == "" && to == "" {
		return Quiet{}, nil
	}
	if from == "" || to == "" {
		return Quiet{}, fault.New(fault.InvalidArgument, "quiet_hours needs both from and to",
			"set quiet_hours.from and quiet_hours.to, or neither")
	}
	var ends [2]time.Duration
	for i, text := range []string{from, to} {
		at, err := time.Parse("15:04", text)
		if err != nil {
			return Quiet{}, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid time %q in quiet_hours", text),
				"use a time of day such as 22:00")
		}
		ends[i] = sinceMidnight(at)
	}
	if ends[0] == ends[1] {
		return Quiet{}, fault.New(fault.InvalidArgument, fmt.Sprintf("quiet_hours start and end at %s", from),
			"use two different times, or neither; `cairn schedule pause TASK` pauses a task, and "+
				"`cairn settings set reflection=false` turns the reflection off")
	}
	where, err := Zone(zone)
	return Quiet{clock{where}, ends[0], ends[1]}, err
}

func sinceMidnight(wall time.Time) time.Duration {
	hour, minute, second := wall.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(wall.Nanosecond())
}

// None reports whether there are no quiet hours.
func (q Quiet) None() bool { return q.from == q.to }

// Holds reports whether an instant is inside the quiet hours.
func (q Quiet) Holds(at time.Time) bool {
	if q.None() {
		return false
	}
	wall := sinceMidnight(q.clock.shows(at))
	if q.from < q.to {
		return q.from <= wall && wall < q.to
	}
	return q.from <= wall || wall < q.to
}

// After returns the first instant from at that is outside the quiet hours: at itself if it is
// outside. If the clock skips the end, it is directly after the gap.
func (q Quiet) After(at time.Time) time.Time {
	return q.first(at, q.to, func(t time.Time) bool { return !q.Holds(t) })
}

// Next returns the first instant from at that is inside the quiet hours. None must be false.
func (q Quiet) Next(at time.Time) time.Time { return q.first(at, q.from, q.Holds) }

// first returns the first instant from at for which is returns true. Within a span of constant
// offset, only the wall time edge can make it true.
func (q Quiet) first(at time.Time, edge time.Duration, is func(time.Time) bool) time.Time {
	for !is(at) {
		next := at.Add((edge - sinceMidnight(q.clock.shows(at)) + 24*time.Hour) % (24 * time.Hour))
		if _, end := q.clock.bounds(at); !end.IsZero() && !next.Before(end) {
			next = end.UTC()
		}
		at = next
	}
	return at
}
