// Package recurrence computes when scheduled work is due, from a cron expression on the wall clock
// of an IANA time zone. It stores nothing.
//
//	s, err := recurrence.Parse("0 23 * * *", "America/Nuuk")
//	at, date := s.Next(watermark)  // work on (watermark, at], under the key s.Key(…) or date
//	for _, f := range s.Preview(from, until, 100) { fmt.Println(f.Local, f.Note) }
//
// A wall time is due at the first instant at which the clock shows it or a later time. A repeated
// wall time is due only the first time. A skipped wall time is due directly after the gap, for its
// own date, even if the gap spans midnight. A schedule with one time of day therefore fires exactly
// once for each local date of any zone. A date that the zone skips entirely has no firing; its
// window is part of the next one.
//
// Schedules that fire every hour (the hour is *, as in */15 * * * *) follow elapsed time instead.
// They fire in both passes of a repeated hour, and fire nothing extra after a gap. @every counts
// from 1970-01-01T00:00Z.
//
// Firings are strictly ordered and depend only on the schedule. Next returns the same firing from
// every instant between two firings, so the windows between firings cover all time without
// overlaps.
package recurrence
