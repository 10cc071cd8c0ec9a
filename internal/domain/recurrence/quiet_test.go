package recurrence

import (
	"testing"
	"time"
)

func TestQuietHoursEndWhereTheClockSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, zone, at, end string }{
		"before them":        {"22:00", "07:00", "UTC", "2026-03-01T21:59:00Z", "2026-03-01T21:59:00Z"},
		"at their beginning": {"22:00", "07:00", "UTC", "2026-03-01T22:00:00Z", "2026-03-02T07:00:00Z"},
		"after midnight":     {"22:00", "07:00", "UTC", "2026-03-02T06:59:59Z", "2026-03-02T07:00:00Z"},
		"at their end":       {"22:00", "07:00", "UTC", "2026-03-02T07:00:00Z", "2026-03-02T07:00:00Z"},
		"within a day": {"12:00", "14:30", "Asia/Kathmandu", "2026-03-02T07:15:00Z",
			"2026-03-02T08:45:00Z"},
		"a night that is an hour shorter": {"22:00", "07:00", "Europe/Berlin", "2026-03-28T22:30:00Z",
			"2026-03-29T05:00:00Z"},
		"a night that is an hour longer": {"22:00", "07:00", "Europe/Berlin", "2026-10-24T21:30:00Z",
			"2026-10-25T06:00:00Z"},
		"the clock goes over the end": {"22:00", "02:30", "Europe/Berlin", "2026-03-29T00:30:00Z",
			"2026-03-29T01:00:00Z"},
		"the end comes twice": {"22:00", "02:30", "Europe/Berlin", "2026-10-25T00:15:00Z",
			"2026-10-25T00:30:00Z"},
		"it is quiet again in the second": {"22:00", "02:30", "Europe/Berlin", "2026-10-25T01:00:00Z",
			"2026-10-25T01:30:00Z"},
		"a date that the zone leaves out": {"22:00", "07:00", "Pacific/Apia", "2011-12-30T09:00:00Z",
			"2011-12-30T17:00:00Z"},
		"all but a minute": {"07:01", "07:00", "UTC", "2026-03-02T07:01:00Z", "2026-03-03T07:00:00Z"},
		"none":             {"", "", "UTC", "2026-03-02T03:00:00Z", "2026-03-02T03:00:00Z"},
	} {
		q, err := ParseQuiet(c.from, c.to, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := q.After(at).Format(time.RFC3339); got != c.end {
			t.Errorf("%s: they end at %s, want %s", name, got, c.end)
		}
	}
}

// Checks every minute around the clock changes of a year, in zones that change by an hour, half an
// hour, at midnight and by a whole day. Quiet hours start and end at the first instant that is
// inside or outside.
func TestQuietHoursAgreeWithEveryMinute(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/Nuuk", "Africa/Cairo", "Australia/Lord_Howe",
		"America/Santiago", "Asia/Beirut"} {
		for _, hours := range [][2]string{{"22:00", "07:00"}, {"02:30", "03:15"}, {"23:30", "00:30"},
			{"00:00", "01:00"}} {
			q, err := ParseQuiet(hours[0], hours[1], zone)
			if err != nil {
				t.Fatal(err)
			}
			at, until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
			for holds := q.Holds(at); at.Before(until); {
				next := q.After(at)
				if !holds {
					next = q.Next(at)
				}
				for ; at.Before(next) && at.Before(until); at = at.Add(time.Minute) {
					if q.Holds(at) != holds {
						t.Fatalf("%s %v: quiet is %t at %s, before %s", zone, hours, !holds, at, next)
					}
				}
				holds = !holds
				if at.Before(until) && q.Holds(at) != holds {
					t.Fatalf("%s %v: nothing changes at %s", zone, hours, at)
				}
			}
		}
	}
}

func TestQuietHoursThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"22:00", "", "UTC"}, {"", "07:00", "UTC"}, {"10pm", "07:00", "UTC"},
		{"22:00", "24:00", "UTC"}, {"22:00", "22:00", "UTC"}, {"22:00", "07:00", "Mars/Olympus"}} {
		if q, err := ParseQuiet(c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is %+v", c, q)
		}
	}
}
