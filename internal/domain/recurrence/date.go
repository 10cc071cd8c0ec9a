package recurrence

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
)

// Date is a calendar day without a zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date of t in its location.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// String returns the form 2006-01-02.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// AddDays returns the date n days later, or earlier if n is negative.
func (d Date) AddDays(n int) Date { return DateOf(d.wall().AddDate(0, 0, n)) }

// Start returns the first instant of the date in zone. If the zone skips the date, it returns the
// first instant of the next date.
func (d Date) Start(zone *time.Location) time.Time { return clock{zone}.reaches(d.wall()) }

func (d Date) wall() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// ParseDate parses the form 2006-01-02.
func ParseDate(text string) (Date, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", text),
			"use the form 2026-03-01")
	}
	return DateOf(day), nil
}
