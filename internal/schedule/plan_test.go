package schedule

import (
	"testing"
	"time"

	"cairn/internal/cadence"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// due is a task whose next firing was stored by an earlier page.
func due(t *testing.T, cron, zone string, next, now time.Time, change ...func(*Due)) Due {
	t.Helper()
	c, err := cadence.Parse(cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	d := Due{Kind: Reflection, Cron: cron, Zone: zone, CatchUp: 12 * time.Hour, Next: NextAfter(c, next.Add(-1)), Verdict: Ready, Now: now}
	for _, f := range change {
		f(&d)
	}
	return d
}

func one(t *testing.T, d Due) Move {
	t.Helper()
	moves, again := Plan([]Due{d})
	if len(moves) != 1 || len(again) != 0 {
		t.Fatalf("%d moves, %d again", len(moves), len(again))
	}
	return moves[0]
}

// The sweep's own steps through the zones in which schedulers fire twice, or not
// at all: every local date has one slot, whatever the clock does.
func TestEveryDateHasOneSlotOverClockChanges(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/Nuuk", "America/Santiago", "America/Scoresbysund", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe", "Europe/Berlin", "UTC"} {
		c, err := cadence.Parse(cadence.Daily, zone)
		if err != nil {
			t.Fatal(err)
		}
		next := NextAfter(c, at(t, "2026-01-01T00:00:00Z"))
		var last cadence.Date
		for day := range 730 {
			m := one(t, Due{Kind: Reflection, Cron: cadence.Daily, Zone: zone, CatchUp: 12 * time.Hour, Next: next, Verdict: Ready, Now: next.At.Add(40 * time.Second)})
			if !m.Start() || m.Slot != next || !m.Next.At.After(next.At) {
				t.Fatalf("%s: the slot of %v is %+v, the next %+v", zone, next, m.Slot, m.Next)
			}
			date, err := time.Parse(time.DateOnly, m.Slot.Date)
			if err != nil {
				t.Fatal(err)
			}
			if now := cadence.DateOf(date); day > 0 && now != last.AddDays(1) {
				t.Fatalf("%s: %s follows %s", zone, now, last)
			}
			last, next = cadence.DateOf(date), m.Next
		}
	}
}

// The hour that comes twice: a sweep in its second pass finds nothing due.
func TestTheSecondOfTwoHoursIsNotDueAgain(t *testing.T) {
	t.Parallel()
	first := at(t, "2026-10-25T00:00:00Z") // 23:00 in Nuuk, an hour before it comes again
	m := one(t, due(t, cadence.Daily, "America/Nuuk", first, first.Add(time.Second)))
	if m.Slot.Date != "2026-10-24" || m.Next.Date != "2026-10-25" || m.Next.At.Sub(first) < 24*time.Hour {
		t.Errorf("slot %+v, next %+v", m.Slot, m.Next)
	}
}

func TestMissedFiringsAreOneTheLatestWithinTheCatchUp(t *testing.T) {
	t.Parallel()
	hourly := func(d *Due) { d.CatchUp = 3 * time.Hour }
	for name, c := range map[string]struct {
		due            Due
		slot           string
		outcome, after string
	}{
		"in time":             {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"), at(t, "2026-11-20T09:00:30Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"late, and caught up": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"), at(t, "2026-11-20T20:00:00Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"too late":            {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"), at(t, "2026-11-20T22:00:00Z")), "2026-11-20", Skipped, "2026-11-21T09:00:00Z"},
		"days away":           {due(t, "0 9 * * *", "UTC", at(t, "2026-11-17T09:00:00Z"), at(t, "2026-11-20T10:00:00Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"days away, and late": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-17T09:00:00Z"), at(t, "2026-11-20T08:00:00Z")), "2026-11-17", Skipped, "2026-11-20T09:00:00Z"},
		"hours in a row":      {due(t, "0 * * * *", "UTC", at(t, "2026-11-20T03:00:00Z"), at(t, "2026-11-20T10:20:00Z"), hourly), "2026-11-20T10:00Z", "", "2026-11-20T11:00:00Z"},
	} {
		m := one(t, c.due)
		if m.Slot.Key != c.slot || m.Outcome != c.outcome || !m.Next.At.Equal(at(t, c.after)) || (m.Outcome != "") != (m.Reason != "") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestWhatWasTakenStaysAndWhatIsUnknownIsPlanned(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-20T23:10:00Z")
	moves, again := Plan([]Due{
		due(t, cadence.Daily, "UTC", now, now, func(d *Due) { d.Verdict, d.Task = Again, 1 }),
		due(t, cadence.Daily, "UTC", now, now, func(d *Due) { d.Verdict, d.Next, d.Task = Unknown, Firing{}, 2 }),
		due(t, cadence.Daily, "UTC", now.Add(-time.Hour), now, func(d *Due) { d.Verdict, d.Task = Repeated, 3 }),
		due(t, cadence.Daily, "UTC", now.Add(-time.Hour), now, func(d *Due) { d.Zone, d.Task = "Mars/Olympus", 4 }),
	})
	if len(again) != 1 || again[0].Task != 1 || len(moves) != 3 {
		t.Fatalf("%d moves, %+v again", len(moves), again)
	}
	if m := moves[0]; m.Start() || m.Outcome != "" || m.Next.Date != "2026-11-21" {
		t.Errorf("a task that was not planned: %+v", m)
	}
	if m := moves[1]; m.Start() || m.Outcome != Collapsed {
		t.Errorf("a date that has its reflection: %+v", m)
	}
	if m := moves[2]; m.Start() || m.Outcome != Failed || m.Reason == "" || !m.Next.At.After(now) {
		t.Errorf("a zone that is unknown here: %+v", m)
	}
}
