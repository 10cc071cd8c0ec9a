package recurrence

import (
	"fmt"
	"strings"
	"time"
)

// ClockChange describes how a change of the clock affects a wall time.
type ClockChange string

const (
	Plain   ClockChange = ""
	Skipped ClockChange = "skipped" // the clock skips it; due directly after the gap
	Doubled ClockChange = "doubled" // the clock shows it twice
)

// Firing is one time at which a schedule is due.
type Firing struct {
	At        time.Time     // in UTC
	Local     time.Time     // the same instant on the schedule's clock
	Offset    time.Duration // UTC offset of the clock
	LocalDate Date          // date of the scheduled wall time
	Meeting   ClockChange
	Note      string // effect of a clock change on the firing or on the window before it; usually empty
}

// Preview returns the firings with from ≤ At < until, at most most of them. The first window starts
// at from.
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

// meet returns how a clock change affects the wall time of a firing.
func (s Schedule) meet(at, wall time.Time) (ClockChange, []string) {
	if shown := s.clock.shows(at); !shown.Equal(wall) {
		return Skipped, []string{fmt.Sprintf("the clock skips %s on %s; due directly after", wall.Format("15:04"),
			DateOf(wall))}
	}
	change, again, twice := s.clock.changeAround(at)
	switch {
	case !twice || s.every != 0:
		return Plain, nil
	case again:
		return Doubled, []string{"the clock shows " + wall.Format("15:04") + " again; both firings count"}
	case s.everyHour():
		return Doubled, []string{"the clock shows " + wall.Format("15:04") + " twice; both firings count"}
	default:
		return Doubled, []string{fmt.Sprintf("the clock shows %s twice, again %s later; due the first time only",
			wall.Format("15:04"), hours(change.before-change.after))}
	}
}

// maxChanges is the number of clock changes that a note lists.
const maxChanges = 3

// changes lists the clock changes in the window (last, at].
func (s Schedule) changes(last, at time.Time) (out []string) {
	for {
		change, there := s.clock.nextChange(last, at)
		if !there {
			if more := len(out) - maxChanges; more > 0 { // a window of years
				out = append(out[:maxChanges], fmt.Sprintf("%d more clock changes", more))
			}
			return out
		}
		before, after := change.at.Add(change.before), change.at.Add(change.after) // wall times, in UTC
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

// hours formats a difference of clocks: 1h, 30m, 24h.
func hours(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
