package recurrence

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// drawn returns a random field and the values that it matches.
func drawn(r *rand.Rand, from, to int) (string, func(int) bool) {
	a := from + r.IntN(to-from+1)
	switch r.IntN(5) {
	case 0:
		return "*", func(int) bool { return true }
	case 1:
		step := 1 + r.IntN(to)
		return fmt.Sprintf("*/%d", step), func(v int) bool { return (v-from)%step == 0 }
	case 2:
		b := a + r.IntN(to-a+1)
		step := 1 + r.IntN(3)
		return fmt.Sprintf("%d-%d/%d", a, b, step), func(v int) bool { return v >= a && v <= b && (v-a)%step == 0 }
	case 3:
		b := from + r.IntN(to-from+1)
		return fmt.Sprintf("%d,%d", a, b), func(v int) bool { return v == a || v == b }
	default:
		return fmt.Sprint(a), func(v int) bool { return v == a }
	}
}

// oracle checks the clock minute by minute.
type oracle struct {
	zone                              *time.Location
	minute, hour, day, month, weekday func(int) bool
	everyHour                         bool
}

func (o oracle) matches(wall time.Time) bool {
	return o.minute(wall.Minute()) && o.hour(wall.Hour()) && o.day(wall.Day()) && o.month(int(wall.Month())) &&
		o.weekday(int(wall.Weekday()))
}

func (o oracle) firings(from, until time.Time) (at []time.Time, dates []Date) {
	face := func(t time.Time) time.Time {
		l := t.In(o.zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	latest := face(from.Add(-time.Minute))
	for t := from; t.Before(until); t = t.Add(time.Minute) {
		now := face(t)
		if o.everyHour {
			if o.matches(now) {
				at, dates = append(at, t), append(dates, DateOf(now))
			}
			continue
		}
		due := false
		for ; latest.Before(now); latest = latest.Add(time.Minute) {
			if meant := latest.Add(time.Minute); o.matches(meant) {
				if !due {
					at, dates = append(at, t), append(dates, Date{})
				}
				due, dates[len(dates)-1] = true, DateOf(meant)
			}
		}
	}
	return at, dates
}

func TestRandomExpressionsFireAsAnObserverOfTheClockWould(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	var changing []*time.Location
	for _, name := range distinct(t) {
		zone, _ := Zone(name)
		if _, there := (clock{zone}).nextChange(first, end); there {
			changing = append(changing, zone)
		}
	}
	fired := 0
	for n := range 600 {
		zone := changing[r.IntN(len(changing))]
		middle := first.Add(time.Duration(r.IntN(1000*24*60)) * time.Minute)
		if n%6 != 0 {
			if c, there := (clock{zone}).nextChange(middle, end); there {
				middle = c.at
			}
		}
		from, until := middle.Add(-50*time.Hour), middle.Add(30*time.Hour)
		o := oracle{zone: zone}
		text := make([]string, 5)
		text[0], o.minute = drawn(r, 0, 59)
		text[1], o.hour = drawn(r, 0, 23)
		text[2], text[3], text[4] = "*", "*", "*"
		any := func(int) bool { return true }
		o.day, o.month, o.weekday = any, any, any
		switch r.IntN(6) {
		case 0:
			text[2], o.day = drawn(r, 1, 28)
		case 1:
			text[3], o.month = drawn(r, 1, 12)
		case 2:
			text[4], o.weekday = drawn(r, 0, 6)
		}
		o.everyHour = true
		for h := range 24 {
			o.everyHour = o.everyHour && o.hour(h)
		}
		s := parse(t, strings.Join(text, " "), zone.String())
		want, dates := o.firings(from, until)
		last := from.Add(-1)
		for i, at := range want {
			got, date := s.Next(last)
			if !got.Equal(at) || date != dates[i] {
				t.Fatalf("seed %d: %s in %s after %v: %v for %s, and the clock says %v for %s", seed, s, zone, last,
					got, date, at, dates[i])
			}
			last = got
		}
		if got, _ := s.Next(last); got.Before(until) {
			t.Fatalf("seed %d: %s in %s after %v: %v, and the clock says none before %v", seed, s, zone, last, got,
				until)
		}
		fired += len(want)
	}
	if fired < 1000 {
		t.Errorf("only %d firings were compared", fired)
	}
}

func TestAnHourThatComesTwiceCountsTwiceForEveryHourOnly(t *testing.T) {
	t.Parallel()
	from, until := instant(t, "2026-10-25T00:00:00Z"), instant(t, "2026-10-25T02:00:00Z") // 02:00 summer time to 03:00
	for expression, want := range map[string]int{"*/15 * * * *": 8, "0 0-23 * * *": 2, "*/15 2 * * *": 4,
		"*/15 1-3 * * *": 4, "@every 15m": 8} {
		if got := parse(t, expression, "Europe/Berlin").Preview(from, until, 100); len(got) != want {
			t.Errorf("%s: %d firings, want %d", expression, len(got), want)
		}
	}
}

func TestAGapIsMadeUpForOnce(t *testing.T) {
	t.Parallel()
	// 01:30 to 03:30, 02:00 to 03:00 is skipped
	from, until := instant(t, "2026-03-29T00:30:00Z"), instant(t, "2026-03-29T01:30:00Z")
	for expression, want := range map[string]string{"*/10 2 * * *": "03:00", "0 1-4 * * *": "03:00",
		"30 2,4 * * *": "03:00", "*/20 * * * *": "01:40 03:00 03:20", "30 * * * *": "01:30"} {
		var got []string
		for _, f := range parse(t, expression, "Europe/Berlin").Preview(from, until, 100) {
			got = append(got, f.Local.Format("15:04"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", expression, got, want)
		}
	}
}

func TestAFiringHasOneKey(t *testing.T) {
	t.Parallel()
	at := instant(t, "2027-03-27T12:00:00Z")
	for expression, want := range map[string]string{Daily: "2027-03-27", "0 23 * * SAT": "2027-03-27",
		"0 22,23 * * *": "2027-03-28T00:00Z", "@every 6h": "2027-03-27T18:00Z"} {
		s := parse(t, expression, "America/Nuuk")
		next, date := s.Next(at)
		if got := s.Key(next, date); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

func TestRareDaysAreFound(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{"0 0 29 2 *": "2104-02-29T00:00:00Z",
		"0 0 31 12 *": "2096-12-31T00:00:00Z"} {
		if at, _ := parse(t, expression, "UTC").Next(instant(t, "2096-02-29T00:00:00Z")); !at.Equal(instant(t, want)) {
			t.Errorf("%s: %v", expression, at)
		}
	}
}

func TestPeriodsCountFromTheEpoch(t *testing.T) {
	t.Parallel()
	s := parse(t, "@every 7h", "Asia/Tokyo")
	for after, want := range map[string]string{"1970-01-01T00:00:00Z": "1970-01-01T07:00:00Z",
		"1969-12-31T23:59:59Z": "1970-01-01T00:00:00Z", "1970-01-01T06:59:59.5Z": "1970-01-01T07:00:00Z"} {
		if at, _ := s.Next(instant(t, after)); !at.Equal(instant(t, want)) {
			t.Errorf("after %s: %v", after, at)
		}
	}
}

func TestAPreviewMarksWhatTheClockDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, expression, date, note string }{
		{"America/Nuuk", Daily, "2027-03-27", "the clock skips 23:00 on 2027-03-27; due directly after; clock " +
			"forward 1h: 2027-03-27 23:00 becomes 2027-03-28 00:00"},
		{"America/Nuuk", Daily, "2026-10-24", "the clock shows 23:00 twice, again 1h later; due the first time only"},
		{"America/Nuuk", Daily, "2026-10-25", "clock back 1h: 2026-10-25 00:00 becomes 2026-10-24 23:00"},
		{"Australia/Lord_Howe", Daily, "2026-10-04", "clock forward 30m: 2026-10-04 02:00 becomes 02:30"},
		{"Europe/Berlin", Daily, "2026-10-26", ""},
	} {
		s := parse(t, c.expression, c.zone)
		found := false
		for _, f := range s.Preview(instant(t, "2026-09-01T00:00:00Z"), instant(t, "2027-09-01T00:00:00Z"), 1000) {
			if found = found || f.LocalDate.String() == c.date; f.LocalDate.String() == c.date && f.Note != c.note {
				t.Errorf("%s, %s: %q, want %q", c.zone, c.date, f.Note, c.note)
			}
		}
		if !found {
			t.Errorf("%s has no %s", c.zone, c.date)
		}
	}
	hourly := parse(t, "30 * * * *", "Europe/Berlin").
		Preview(instant(t, "2026-10-25T00:00:00Z"), instant(t, "2026-10-25T02:00:00Z"), 9)
	if len(hourly) != 2 || hourly[0].Meeting != Doubled || hourly[1].Meeting != Doubled ||
		!strings.Contains(hourly[1].Note, "again") || hourly[0].Offset != 2*time.Hour || hourly[1].Offset != time.Hour {
		t.Errorf("%+v", hourly)
	}
	rare := parse(t, "0 0 29 2 *", "Europe/Berlin").
		Preview(instant(t, "2028-03-01T00:00:00Z"), instant(t, "2033-01-01T00:00:00Z"), 9)
	if len(rare) != 1 || strings.Count(rare[0].Note, "; ") != 3 ||
		!strings.HasSuffix(rare[0].Note, "5 more clock changes") {
		t.Errorf("%+v", rare)
	}
	if n := len(parse(t, "* * * * *", "UTC").Preview(first, end, 7)); n != 7 {
		t.Errorf("%d firings, 7 at most", n)
	}
}
