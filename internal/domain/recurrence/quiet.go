package recurrence

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
)

// Quiet are hours of the day, on the wall clock of a zone. The zero value is no
// hours at all.
type Quiet struct {
	clock    clock
	from, to time.Duration // since midnight, from included; from > to goes over midnight
}

// ParseQuiet reads times of day such as 22:00 and 07:00. Both empty is no hours.
func ParseQuiet(from, to, zone string) (Quiet, error) {
	if from == "" && to == "" {
		return Quiet{}, nil
	}
	if from == "" || to == "" {
		return Quiet{}, fault.New(fault.InvalidArgument, "quiet_hours has one end only", "give from and to, or neither")
	}
	var ends [2]time.Duration
	for i, text := range []string{from, to} {
		at, err := time.Parse("15:04", text)
		if err != nil {
			return Quiet{}, fault.New(fault.InvalidArgument, fmt.Sprintf("quiet_hours has %q", text),
				"write a time of day as 22:00")
		}
		ends[i] = sinceMidnight(at)
	}
	if ends[0] == ends[1] {
		return Quiet{}, fault.New(fault.InvalidArgument, fmt.Sprintf("quiet_hours begin and end at %s", from),
			"give two times, or neither; `cairn schedule pause` keeps a task from coming due, reflection=false the "+
				"reflection")
	}
	where, err := Zone(zone)
	return Quiet{clock{where}, ends[0], ends[1]}, err
}

func sinceMidnight(wall time.Time) time.Duration {
	hour, minute, second := wall.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(wall.Nanosecond())
}

// None tells that there are no hours.
func (q Quiet) None() bool { return q.from == q.to }

// Holds tells whether the clock shows one of the hours.
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

// After is the first instant from at on that is not in the hours: at itself when
// it is not. Where the clock goes over the end, it is right after the gap.
func (q Quiet) After(at time.Time) time.Time {
	return q.first(at, q.to, func(t time.Time) bool { return !q.Holds(t) })
}

// Next is when the hours begin, the first instant from at on that is in them.
// There must be hours.
func (q Quiet) Next(at time.Time) time.Time { return q.first(at, q.from, q.Holds) }

// first is the first instant from at on at which is holds. Within a span of one
// offset it can begin to at the wall time edge only.
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
