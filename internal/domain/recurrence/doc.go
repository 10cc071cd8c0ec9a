// Package recurrence says when a workspace's scheduled work is due: a cron
// expression read on the wall clock of an IANA time zone. It computes and
// stores nothing.
//
//	s, err := cadence.Parse("0 23 * * *", "America/Nuuk")
//	at, date := s.Next(watermark)  // work on (watermark, at], under the key s.Key(…) or date
//	for _, f := range s.Preview(from, until, 100) { fmt.Println(f.Local, f.Note) }
//
// One rule holds where clocks change: a wall time is due at the first instant at
// which the clock shows it or a later one. So a time that comes twice is due the
// first time only, and one that the clock skips is due right after the gap, for
// the date that it was meant for, also when the gap leads over midnight. A
// schedule with one time of day therefore fires exactly once for each of its
// local dates, whatever the zone does. A date that the zone leaves out altogether
// has no firing; its window is part of the next one.
//
// Schedules of every hour (the hour is *, as in */15 * * * *) are about elapsed
// time instead: they fire in both passes of an hour that comes twice, and make up
// nothing for a gap. @every counts from 1970-01-01T00:00Z.
//
// Firings are strictly ordered and depend on nothing but the schedule: Next
// gives the same firing from anywhere between two, so windows from each firing
// to the next tile time.
package recurrence
