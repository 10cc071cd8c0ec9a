package recurrence

import (
	"fmt"
	"strings"
	"time"
)

// ClockChange is how a wall time meets the clock.
type ClockChange string

const (
	Plain   ClockChange = ""
	Skipped ClockChange = "skipped" // the clock goes over it; due right after
	Doubled ClockChange = "doubled" // the clock shows it twice
)

// Firing is one time at which a schedule is due.
type Firing struct {
	At        time.Time     // in UTC
	Local     time.Time     // the same instant on the schedule's clock
	Offset    time.Duration // of the clock, ahead of UTC
	LocalDate Date          // of the wall time that was meant
	Meeting   ClockChange
	Note      string // what the clock did to this firing or to the window before it; mostly ""
}

// Preview lists the firings with from ≤ At < until, at most so many. The first
// window begins at from.
func (s Schedule) Preview(from, until time.Time, most int) []Firing {
	var out []Firing
	for last := from.Add(-1); len(out) < most; {
		at, wall := s.next(last)
		if !at.Before(until) {
			break
		}
		f := Firing{At: at, Local: at.In(s.clock.zone), Offset: s.clock.offset(at), LocalDate: DateOf(wall)}
		var notes []string
		f.Meeting, notes = s.meet(at, wall)
		f.Note = strings.Join(append(notes, s.changes(last, at)...), "; ")
		out = append(out, f)
		last = at
	}
	return out
}

// meet says how the wall time of a firing meets the clock.
func (s Schedule) meet(at, wall time.Time) (ClockChange, []string) {
	if shown := s.clock.shows(at); !shown.Equal(wall) {
		return Skipped, []string{fmt.Sprintf("the clock skips %s on %s; due right after", wall.Format("15:04"),
			DateOf(wall))}
	}
	change, again, twice := s.clock.changeAround(at)
	switch {
	case !twice || s.every != 0:
		return Plain, nil
	case again:
		return Doubled, []string{"the clock shows " + wall.Format("15:04") + " again; every hour counts"}
	case s.everyHour():
		return Doubled, []string{"the clock shows " + wall.Format("15:04") + " twice; every hour counts"}
	default:
		return Doubled, []string{fmt.Sprintf("the clock shows %s twice, again %s later; due the first time only",
			wall.Format("15:04"), hours(change.before-change.after))}
	}
}

// maxChanges of the clock are told one by one.
const maxChanges = 3

// changes tells the changes of the clock in the window (last, at].
func (s Schedule) changes(last, at time.Time) (out []string) {
	for {
		change, there := s.clock.nextChange(last, at)
		if !there {
			if more := len(out) - maxChanges; more > 0 { // a window of years
				out = append(out[:maxChanges], fmt.Sprintf("%d more changes of the clock", more))
			}
			return out
		}
		before, after := change.at.Add(change.before), change.at.Add(change.after) // both in UTC, as walls
		direction := "forward"
		if change.after < change.before {
			direction = "back"
		}
		shown := after.Format("15:04")
		if DateOf(before) != DateOf(after) {
			shown = after.Format("2006-01-02 15:04")
		}
		out = append(out, fmt.Sprintf("clock %s %s: %s becomes %s", direction,
			hours((change.after-change.before).Abs()), before.Format("2006-01-02 15:04"), shown))
		last = change.at
	}
}

// hours writes a difference of clocks: 1h, 30m, 24h.
func hours(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
