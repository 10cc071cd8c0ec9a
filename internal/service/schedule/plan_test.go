package schedule

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/testkit"
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
func due(t *testing.T, cron, zone string, next, now time.Time, change ...func(*scheduled.Due)) scheduled.Due {
	t.Helper()
	c, err := recurrence.Parse(cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	d := scheduled.Due{Kind: scheduled.Reflection, Cron: cron, Zone: zone, CatchUp: 12 * time.Hour,
		Next:    scheduled.NextAfter(c, next.Add(-1)),
		Verdict: scheduled.Ready, Now: now}
	for _, f := range change {
		f(&d)
	}
	return d
}

func one(t *testing.T, d scheduled.Due) scheduled.Advance {
	t.Helper()
	moves, again := Planner{}.Plan([]scheduled.Due{d})
	if len(moves) != 1 || len(again) != 0 {
		t.Fatalf("%d moves, %d again", len(moves), len(again))
	}
	return moves[0]
}

// Every local date has one slot in all zones, although clock changes skip or repeat times.
func TestEveryDateHasOneSlotOverClockChanges(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/Nuuk", "America/Santiago", "America/Scoresbysund", "Africa/Cairo",
		"Asia/Beirut", "Australia/Lord_Howe", "Europe/Berlin", "UTC"} {
		c, err := recurrence.Parse(recurrence.Daily, zone)
		if err != nil {
			t.Fatal(err)
		}
		next := scheduled.NextAfter(c, at(t, "2026-01-01T00:00:00Z"))
		var last recurrence.Date
		for day := range 730 {
			m := one(t, scheduled.Due{Kind: scheduled.Reflection, Cron: recurrence.Daily, Zone: zone,
				CatchUp: 12 * time.Hour, Next: next,
				Verdict: scheduled.Ready, Now: next.At.Add(40 * time.Second)})
			if !m.Start() || m.Slot != next || !m.Next.At.After(next.At) {
				t.Fatalf("%s: the slot of %v is %+v, the next %+v", zone, next, m.Slot, m.Next)
			}
			date, err := time.Parse(time.DateOnly, m.Slot.Date)
			if err != nil {
				t.Fatal(err)
			}
			if now := recurrence.DateOf(date); day > 0 && now != last.AddDays(1) {
				t.Fatalf("%s: %s follows %s", zone, now, last)
			}
			last, next = recurrence.DateOf(date), m.Next
		}
	}
}

// In the repeated hour, a second sweep finds nothing due.
func TestTheSecondOfTwoHoursIsNotDueAgain(t *testing.T) {
	t.Parallel()
	first := at(t, "2026-10-25T00:00:00Z") // 23:00 in Nuuk, an hour before it comes again
	m := one(t, due(t, recurrence.Daily, "America/Nuuk", first, first.Add(time.Second)))
	if m.Slot.Date != "2026-10-24" || m.Next.Date != "2026-10-25" || m.Next.At.Sub(first) < 24*time.Hour {
		t.Errorf("slot %+v, next %+v", m.Slot, m.Next)
	}
}

func TestMissedFiringsAreOneTheLatestWithinTheCatchUp(t *testing.T) {
	t.Parallel()
	hourly := func(d *scheduled.Due) { d.CatchUp = 3 * time.Hour }
	for name, c := range map[string]struct {
		due            scheduled.Due
		slot           string
		outcome, after string
	}{
		"in time": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"),
			at(t, "2026-11-20T09:00:30Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"late, and caught up": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"),
			at(t, "2026-11-20T20:00:00Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"too late": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-20T09:00:00Z"),
			at(t, "2026-11-20T22:00:00Z")), "2026-11-20", Skipped, "2026-11-21T09:00:00Z"},
		"days away": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-17T09:00:00Z"),
			at(t, "2026-11-20T10:00:00Z")), "2026-11-20", "", "2026-11-21T09:00:00Z"},
		"days away, and late": {due(t, "0 9 * * *", "UTC", at(t, "2026-11-17T09:00:00Z"),
			at(t, "2026-11-20T08:00:00Z")), "2026-11-17", Skipped, "2026-11-20T09:00:00Z"},
		"hours in a row": {due(t, "0 * * * *", "UTC", at(t, "2026-11-20T03:00:00Z"), at(t, "2026-11-20T10:20:00Z"),
			hourly), "2026-11-20T10:00Z", "", "2026-11-20T11:00:00Z"},
	} {
		m := one(t, c.due)
		if m.Slot.Key != c.slot || m.Outcome != c.outcome || !m.Next.At.Equal(at(t, c.after)) ||
			(m.Outcome != "") != (m.Reason != "") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestWhatWasTakenStaysAndWhatIsUnknownIsPlanned(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-20T23:10:00Z")
	moves, again := Planner{}.Plan([]scheduled.Due{
		due(t, recurrence.Daily, "UTC", now, now, func(d *scheduled.Due) { d.Verdict, d.Task = scheduled.Again, 1 }),
		due(t, recurrence.Daily, "UTC", now, now, func(d *scheduled.Due) {
			d.Verdict, d.Next,
				d.Task = scheduled.Unknown, scheduled.Firing{}, 2
		}),
		due(t, recurrence.Daily, "UTC", now.Add(-time.Hour), now, func(d *scheduled.Due) {
			d.Verdict,
				d.Task = scheduled.Repeated, 3
		}),
		due(t, recurrence.Daily, "UTC", now.Add(-time.Hour), now, func(d *scheduled.Due) {
			d.Zone,
				d.Task = "Mars/Olympus", 4
		}),
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

// night are quiet hours of a workspace.
func night(from, to, zone string) func(*scheduled.Due) {
	return func(d *scheduled.Due) { d.Quiet = scheduled.QuietHours{From: from, To: to, Zone: zone} }
}

// step runs the sweep for a task until its work is started: once if it is in time, and again if it
// is deferred.
func step(t *testing.T, p Planner, d scheduled.Due) (started scheduled.Advance, looks []time.Time) {
	t.Helper()
	for range 5 {
		d.Now = d.Next.Start
		if d.Now.IsZero() {
			d.Now = d.Next.At
		}
		looks = append(looks, d.Now)
		moves, again := p.Plan([]scheduled.Due{d})
		if len(moves) != 1 || len(again) != 0 {
			t.Fatalf("%d moves, %d again", len(moves), len(again))
		}
		if moves[0].Start() {
			return moves[0], looks
		}
		if moves[0].Outcome != "" {
			t.Fatalf("it came to %+v", moves[0])
		}
		d.Next = moves[0].Next
	}
	t.Fatalf("it was put off at %v", looks)
	return scheduled.Advance{}, nil
}

// A firing in quiet hours starts once at their end, under its scheduled date, and the end of its
// window does not change.
func TestQuietHoursPutOffWhatIsDueInThem(t *testing.T) {
	t.Parallel()
	prompt := func(d *scheduled.Due) { d.Kind, d.CatchUp = scheduled.Turn, 10*time.Minute }
	for name, c := range map[string]struct {
		cron, zone, due, start, key string
		change                      []func(*scheduled.Due)
	}{
		"the reflection of a night": {recurrence.Daily, "Europe/Berlin", "2026-11-20T22:00:00Z",
			"2026-11-21T06:00:00Z", "2026-11-20", []func(*scheduled.Due){night("22:00", "07:00", "Europe/Berlin")}},
		"one that is not in them": {recurrence.Daily, "Europe/Berlin", "2026-11-20T22:00:00Z",
			"2026-11-20T22:00:00Z", "2026-11-20", []func(*scheduled.Due){night("00:00", "07:00", "Europe/Berlin")}},
		"a night that is an hour shorter": {recurrence.Daily, "Europe/Berlin", "2026-03-28T22:00:00Z",
			"2026-03-29T05:00:00Z", "2026-03-28", []func(*scheduled.Due){night("22:00", "07:00", "Europe/Berlin")}},
		"an end that the clock skips": {recurrence.Daily, "Europe/Berlin", "2026-03-28T22:00:00Z",
			"2026-03-29T01:00:00Z", "2026-03-28", []func(*scheduled.Due){night("22:00", "02:30", "Europe/Berlin")}},
		"the first of two 23:00s": {recurrence.Daily, "America/Nuuk", "2026-10-25T00:00:00Z",
			"2026-10-25T09:00:00Z", "2026-10-24", []func(*scheduled.Due){night("22:00", "07:00", "America/Nuuk")}},
		"a 23:00 that the clock skips": {recurrence.Daily, "America/Nuuk", "2027-03-28T01:00:00Z",
			"2027-03-28T08:00:00Z", "2027-03-27", []func(*scheduled.Due){night("22:00", "07:00", "America/Nuuk")}},
		"a task in another zone": {"0 9 * * *", "Asia/Tokyo", "2026-11-20T00:00:00Z", "2026-11-20T06:00:00Z",
			"2026-11-20", []func(*scheduled.Due){night("22:00", "07:00", "Europe/Berlin"), prompt}},
		"hours of prompts are one": {"0 * * * *", "UTC", "2026-11-20T22:00:00Z", "2026-11-21T07:00:00Z",
			"2026-11-21T07:00Z", []func(*scheduled.Due){night("22:00", "07:00", "UTC"), prompt}},
		"a catch-up shorter than they": {"30 23 * * *", "UTC", "2026-11-20T23:30:00Z", "2026-11-21T07:00:00Z",
			"2026-11-20", []func(*scheduled.Due){night("22:00", "07:00", "UTC"), prompt}},
	} {
		d := due(t, c.cron, c.zone, at(t, c.due), time.Time{}, c.change...)
		m, looks := step(t, Planner{}, d)
		if last := looks[len(looks)-1]; !last.Equal(at(t, c.start)) || len(looks) > 2 || m.Slot.Key != c.key {
			t.Errorf("%s: looked at %v, started %+v", name, looks, m.Slot)
		}
		if m.Slot.Key == d.Next.Key && !m.Slot.At.Equal(d.Next.At) {
			t.Errorf("%s: its window ends at %s", name, m.Slot.At)
		}
		if m.Next.Start.Before(m.Next.At) || !m.Next.At.After(looks[len(looks)-1]) {
			t.Errorf("%s: the next is %+v", name, m.Next)
		}
		d.Next = m.Next // planned by the sweep: no look in between
		if _, looks := step(t, Planner{}, d); len(looks) != 1 {
			t.Errorf("%s: the next was looked at %v", name, looks)
		}
	}
}

// The sweep was down, with and without a held slot.
func TestNothingStartsLateIntoQuietHours(t *testing.T) {
	t.Parallel()
	evening, now := at(t, "2026-11-20T20:00:00Z"), at(t, "2026-11-20T22:30:00Z")
	d := due(t, "0 20 * * *", "UTC", evening, now, night("22:00", "07:00", "UTC"))
	if m := one(t, d); m.Start() || m.Outcome != "" || m.Next.Key != "2026-11-20" ||
		!m.Next.Start.Equal(at(t, "2026-11-21T07:00:00Z")) {
		t.Errorf("late: %+v", m)
	}
	d.Verdict, d.Held = scheduled.Again, d.Next
	d.Next = scheduled.Firing{}
	if m := one(t, d); m.Start() || m.Next.Key != "2026-11-20" || !m.Next.Start.Equal(at(t, "2026-11-21T07:00:00Z")) {
		t.Errorf("held: %+v", m)
	}
	d.Now = at(t, "2026-11-20T21:30:00Z")
	if moves, again := (Planner{}).Plan([]scheduled.Due{d}); len(moves) != 0 || len(again) != 1 {
		t.Errorf("held before them: %+v", moves)
	}
}

func TestWhatAWorkspaceTurnedOffIsPassedOver(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-20T23:10:00Z")
	off := one(t, due(t, recurrence.Daily, "UTC", now.Add(-10*time.Minute), now,
		func(d *scheduled.Due) { d.Verdict = scheduled.Off }))
	held := one(t, due(t, recurrence.Daily, "UTC", now, now, func(d *scheduled.Due) {
		d.Verdict, d.Held = scheduled.Recalled, scheduled.Firing{Key: "2026-11-19"}
	}))
	for _, m := range []scheduled.Advance{off, held} {
		if m.Start() || m.Outcome != Skipped || m.Reason == "" || m.Next.Date != "2026-11-21" {
			t.Errorf("%+v", m)
		}
	}
	if off.Slot.Key != "2026-11-20" || held.Slot.Key != "2026-11-19" {
		t.Errorf("slots %+v, %+v", off.Slot, held.Slot)
	}
}

// 100,000 workspaces are due in the same minute. Each has a constant position in the jitter, and
// its date is that of the firing.
func TestStartsAreSpreadOverTheJitter(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const jitter = 15 * time.Minute
	nominal := at(t, "2026-11-20T23:55:00Z")
	p := Planner{Jitter: jitter}
	minutes := map[int]int{}
	for i := range 15_000 {
		d := due(t, "55 23 * * *", "UTC", nominal, nominal, func(d *scheduled.Due) {
			d.WorkspaceKey = fmt.Sprintf("w%016x", i*7919)
		})
		m, looks := step(t, p, d)
		place := looks[len(looks)-1].Sub(nominal)
		if place < 0 || place >= jitter || m.Slot.Key != "2026-11-20" || !m.Slot.At.Equal(nominal) {
			t.Fatalf("%s after it was due: %+v", place, m.Slot)
		}
		if next := m.Next.Start.Sub(m.Next.At); next != place {
			t.Fatalf("its place is %s, the next night %s", place, next)
		}
		minutes[int(place/time.Minute)]++
	}
	for minute := range 15 {
		if n := minutes[minute]; n < 800 || n > 1200 {
			t.Errorf("%d of 15,000 start in minute %d", n, minute)
		}
	}
}

func TestJitterKeepsOutOfQuietHoursAndOfPrompts(t *testing.T) {
	t.Parallel()
	p := Planner{Jitter: 15 * time.Minute}
	for i := range 200 {
		key := func(d *scheduled.Due) { d.WorkspaceKey = fmt.Sprint("w", i) }
		before := due(t, "55 21 * * *", "UTC", at(t, "2026-11-20T21:55:00Z"), time.Time{},
			night("22:00", "07:00", "UTC"), key)
		if _, looks := step(t, p, before); looks[len(looks)-1].After(at(t, "2026-11-20T21:59:59Z")) {
			t.Fatalf("started at %v", looks)
		}
		within := due(t, recurrence.Daily, "UTC", at(t, "2026-11-20T23:00:00Z"), time.Time{},
			night("22:00", "07:00", "UTC"), key)
		if _, looks := step(t, p, within); looks[len(looks)-1].Before(at(t, "2026-11-21T07:00:00Z")) ||
			!looks[len(looks)-1].Before(at(t, "2026-11-21T07:15:00Z")) {
			t.Fatalf("started at %v", looks)
		}
		prompt := due(t, "*/5 * * * *", "UTC", at(t, "2026-11-20T08:00:00Z"), time.Time{}, key, func(d *scheduled.Due) {
			d.Kind = scheduled.Turn
		})
		if _, looks := step(t, p, prompt); len(looks) != 1 {
			t.Fatalf("a prompt was put off: %v", looks)
		}
	}
}
