package recurrence

import (
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// Wall times at which schedulers fire twice or not at all.
func TestAChangeOfTheClockNeitherDoublesNorLosesADate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, expression, after string
		date, at                string
		meeting                 ClockChange
	}{
		// The hour from 23:00 is repeated on the evening of the change.
		{"America/Santiago", Daily, "2026-04-04T12:00:00Z", "2026-04-04", "2026-04-05T02:00:00Z", Doubled},
		{"America/Nuuk", Daily, "2026-10-24T12:00:00Z", "2026-10-24", "2026-10-25T00:00:00Z", Doubled},
		{"America/Scoresbysund", Daily, "2026-10-24T12:00:00Z", "2026-10-24", "2026-10-25T00:00:00Z", Doubled},
		{"Africa/Cairo", Daily, "2026-10-29T12:00:00Z", "2026-10-29", "2026-10-29T20:00:00Z", Doubled},
		{"Asia/Beirut", Daily, "2026-10-24T12:00:00Z", "2026-10-24", "2026-10-24T20:00:00Z", Doubled},
		// In spring the clock moves from 23:00 to midnight.
		{"America/Nuuk", Daily, "2027-03-27T12:00:00Z", "2027-03-27", "2027-03-28T01:00:00Z", Skipped},
		{"America/Nuuk", Daily, "2027-03-28T01:00:00Z", "2027-03-28", "2027-03-29T00:00:00Z", Plain},
		{"America/Scoresbysund", Daily, "2027-03-27T12:00:00Z", "2027-03-27", "2027-03-28T01:00:00Z", Skipped},
		// A change of half an hour at 2:00, far from 23:00. Schedulers that count hours fail here.
		{"Australia/Lord_Howe", Daily, "2026-10-03T12:30:00Z", "2026-10-04", "2026-10-04T12:00:00Z", Plain},
		{"Australia/Lord_Howe", Daily, "2026-04-04T12:00:00Z", "2026-04-05", "2026-04-05T12:30:00Z", Plain},
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00Z", "2026-10-04", "2026-10-03T15:30:00Z", Skipped},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00Z", "2026-04-05", "2026-04-04T14:45:00Z", Doubled},
		// Midnight itself is skipped.
		{"Africa/Cairo", "0 0 * * *", "2026-04-23T12:00:00Z", "2026-04-24", "2026-04-23T22:00:00Z", Skipped},
		{"Asia/Beirut", "0 0 * * *", "2026-03-28T12:00:00Z", "2026-03-29", "2026-03-28T22:00:00Z", Skipped},
		{"America/Santiago", "30 0 * * *", "2026-09-05T12:00:00Z", "2026-09-06", "2026-09-06T04:00:00Z", Skipped},
		// Midnight occurs once, after 23:00 occurred twice.
		{"Africa/Cairo", "0 0 * * *", "2026-10-29T12:00:00Z", "2026-10-30", "2026-10-29T22:00:00Z", Plain},
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29", "2026-03-29T01:00:00Z", Skipped},
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25", "2026-10-25T00:30:00Z", Doubled},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26", "2026-10-26T01:30:00Z", Plain},
		{"America/New_York", "30 2 * * 0", "2026-03-07T12:00:00Z", "2026-03-08", "2026-03-08T07:00:00Z", Skipped},
		// A skipped date has no firing.
		{"Pacific/Apia", Daily, "2011-12-29T12:00:00Z", "2011-12-29", "2011-12-30T09:00:00Z", Plain},
		{"Pacific/Apia", Daily, "2011-12-30T09:00:00Z", "2011-12-31", "2011-12-31T09:00:00Z", Plain},
		{"Pacific/Apia", "0 0 * * *", "2011-12-29T12:00:00Z", "2011-12-31", "2011-12-30T10:00:00Z", Plain},
		{"Pacific/Kwajalein", Daily, "1993-08-21T12:00:00Z", "1993-08-22", "1993-08-22T11:00:00Z", Plain},
		// The last day of a leap year, in a zone with a rule for the future.
		{"Europe/Berlin", Daily, "2028-12-31T12:00:00Z", "2028-12-31", "2028-12-31T22:00:00Z", Plain},
		{"America/Nuuk", "30 23 * * *", "2048-12-31T12:00:00Z", "2048-12-31", "2049-01-01T01:30:00Z", Plain},
	} {
		s := parse(t, c.expression, c.zone)
		f := s.Preview(instant(t, c.after).Add(1), instant(t, c.at).AddDate(0, 1, 0), 1)[0]
		if !f.At.Equal(instant(t, c.at)) || f.LocalDate.String() != c.date || f.Meeting != c.meeting {
			t.Errorf("%s, %s after %s: %s at %v, %q; want %s at %s, %q", c.zone, c.expression, c.after, f.LocalDate,
				f.At, f.Meeting, c.date, c.at, c.meeting)
		}
		if at, date := s.Next(f.At.Add(-1)); !at.Equal(f.At) || date != f.LocalDate {
			t.Errorf("%s, %s: the date of the stored firing is read as %s", c.zone, c.expression, date)
		}
		if before := s.Preview(f.At.Add(-40*time.Hour), f.At, 9); slices.ContainsFunc(before, func(b Firing) bool {
			return b.LocalDate == f.LocalDate
		}) {
			t.Errorf("%s, %s: %s fires before, too", c.zone, c.expression, f.LocalDate)
		}
	}
}

// offsets describes the clock of a zone in the tested years. Zones with equal offsets need one
// test.
func offsets(zone *time.Location) string {
	out := []byte{}
	for at := first; at.Before(end); at = at.Add(12 * time.Hour) {
		out = append(out, at.In(zone).Format("-0700")...)
	}
	for c, there := (clock{zone}).nextChange(first, end); there; c, there = (clock{zone}).nextChange(c.at, end) {
		out = append(out, c.at.Format(time.RFC3339)...)
	}
	return string(out)
}

var (
	first = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = time.Date(2029, 1, 2, 0, 0, 0, 0, time.UTC)
)

// distinct returns one zone for each different clock in the tested years.
func distinct(t testing.TB) []string {
	t.Helper()
	seen := map[string]bool{}
	var out []string
	for _, name := range Zones() {
		zone, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		if key := offsets(zone); !seen[key] {
			seen[key] = true
			out = append(out, name)
		}
	}
	return out
}

// In every zone, each local date has exactly one firing, at its wall time or directly after the gap
// that skips it. The windows between firings cover all time without overlaps.
func TestEveryDateOfEveryZoneIsInExactlyOneWindow(t *testing.T) {
	t.Parallel()
	zones := distinct(t)
	if len(zones) < 50 {
		t.Fatalf("only %d clocks", len(zones))
	}
	skipped, doubled, wrong := 0, 0, map[string]bool{}
	for _, name := range zones {
		zone, _ := Zone(name)
		for expression, hm := range map[string][2]int{Daily: {23, 0}, "0 0 * * *": {0, 0}, "30 2 * * *": {2, 30}} {
			s := parse(t, expression, name)
			last, date := s.Next(first)
			for last.Before(end) {
				at, next := s.Next(last)
				if next != date.AddDays(1) {
					t.Fatalf("%s, %s: %s follows %s", name, expression, next, date)
				}
				if width := at.Sub(last); width < 21*time.Hour || width > 27*time.Hour {
					t.Fatalf("%s, %s: the window to %s is %s", name, expression, next, width)
				}
				// time.Date knows whether a wall time exists.
				meant := time.Date(next.Year, next.Month, next.Day, hm[0], hm[1], 0, 0, zone)
				exists := DateOf(meant) == next && meant.Hour() == hm[0] && meant.Minute() == hm[1]
				_, now := at.In(zone).Zone()
				_, before := at.Add(-1).In(zone).Zone()
				switch local := at.In(zone); {
				case exists && (local.Hour() != hm[0] || local.Minute() != hm[1] || DateOf(local) != next):
					t.Fatalf("%s, %s: %s fires at %v", name, expression, next, local)
				case !exists && now <= before:
					t.Fatalf("%s, %s: %s is skipped, and fires at %v, not behind a gap", name, expression, next, local)
				case !exists:
					skipped++
				case local.Add(-time.Hour).Hour() == local.Hour() ||
					local.Add(-30*time.Minute).Format("15:04") == local.Format("15:04"):
					t.Fatalf("%s, %s: %s fires at the second of two, %v", name, expression, next, local)
				case local.Add(time.Hour).Hour() == local.Hour():
					doubled++
				}
				if now != before ||
					at.Sub(last) != 24*time.Hour { // the result is the same from every instant of the window
					for from := last; from.Before(at); from = from.Add(17 * time.Minute) {
						if again, _ := s.Next(from); !again.Equal(at) {
							t.Fatalf("%s, %s: from %v the next is %v, not %v", name, expression, from, again, at)
						}
					}
					naive, _ := cron.ParseStandard("CRON_TZ=" + name + " " + expression)
					if expression == Daily && (!naive.Next(last).Equal(at) || naive.Next(at).Sub(at) < 20*time.Hour) {
						wrong[name] = true
					}
				}
				last, date = at, next
			}
		}
	}
	// If the zones had no such changes, this test would verify nothing.
	if skipped == 0 || doubled == 0 || !wrong["America/Godthab"] || !wrong["Australia/LHI"] {
		t.Errorf("%d times were skipped and %d doubled; package cron alone errs in %v", skipped, doubled, wrong)
	}
}
