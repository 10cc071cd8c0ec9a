package recurrence

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"

	"cairn/internal/domain/fault"
)

// field is one of the five fields of an expression.
type field struct {
	name     string
	option   cron.ParseOption
	set      func(*cron.SpecSchedule) *uint64 // bit n is value n; the highest bit marks a *
	min, max int
	allowed  string // allowed values, for error messages
}

var fields = [5]field{
	{"minute", cron.Minute, func(s *cron.SpecSchedule) *uint64 { return &s.Minute }, 0, 59, "0 to 59"},
	{"hour", cron.Hour, func(s *cron.SpecSchedule) *uint64 { return &s.Hour }, 0, 23, "0 to 23"},
	{"day of the month", cron.Dom, func(s *cron.SpecSchedule) *uint64 { return &s.Dom }, 1, 31, "1 to 31"},
	{"month", cron.Month, func(s *cron.SpecSchedule) *uint64 { return &s.Month }, 1, 12, "1 to 12 or JAN to DEC"},
	{"day of the week", cron.Dow, func(s *cron.SpecSchedule) *uint64 {
		return &s.Dow
	}, 0, 6, "0 (Sunday) to 6 or SUN to SAT"},
}

// starBit is the mark of package cron for a field that was written as *.
const starBit = 1 << 63

// item matches an item of a list: *, a value or a range, and a step. Package cron accepts more
// without an error, such as an empty item or "*-5".
var item = regexp.MustCompile(`^(\*|([0-9]{1,2}|[A-Za-z]{3})(?:-([0-9]{1,2}|[A-Za-z]{3}))?)(?:/([0-9]{1,4}))?$`)

// parse parses one field into s.
func (f field) parse(text string, s *cron.SpecSchedule) error {
	for one := range strings.SplitSeq(text, ",") {
		set, err := f.read(one)
		if err != nil {
			return f.refuse(text, one)
		}
		if step, _ := strconv.Atoi(item.FindStringSubmatch(one)[4]); step > f.max {
			return f.tooWide(one, step)
		}
		*f.set(s) |= set
	}
	return nil
}

// read returns the values of one item.
func (f field) read(one string) (uint64, error) {
	if !item.MatchString(one) {
		return 0, fmt.Errorf("invalid item %q", one)
	}
	parsed, err := cron.NewParser(f.option).Parse(one)
	if err != nil {
		return 0, err
	}
	return *f.set(parsed.(*cron.SpecSchedule)), nil
}

// refuse returns the error for an item that cannot be parsed.
func (f field) refuse(text, one string) error {
	refused := func(message, hint string) error {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("the %s is %q: %s", f.name, text, message), hint).
			With("part", one)
	}
	parts := item.FindStringSubmatch(one)
	switch {
	case one == "":
		return refused("the list has an empty item", "remove the extra comma")
	case one == "?":
		return refused("? is not supported", "use * for any "+f.name)
	case parts == nil && strings.Contains(one, "#"):
		return refused("# is not supported",
			"use the weekday alone, such as FRI, or days of the month, such as 8-14")
	case parts == nil && strings.ContainsAny(one, "LlWw") && (f.option == cron.Dom || f.option == cron.Dow):
		return refused("L and W are not supported",
			"use days, such as 28 for the end of the month, or MON-FRI for working days")
	case parts == nil:
		return refused(fmt.Sprintf("invalid item %q", one),
			fmt.Sprintf("use * or %s, ranges such as %d-%d, lists with commas and steps such as */2", f.allowed, f.min,
				f.min+3))
	case f.option == cron.Dow && (parts[2] == "7" || parts[3] == "7"):
		return refused("7 is not a day of the week", sunday(parts[2], parts[4]))
	}
	for _, end := range parts[2:4] {
		if _, err := f.read(end); end != "" && err != nil {
			return refused(fmt.Sprintf("invalid %s %s", f.name, end), "use "+f.allowed)
		}
	}
	if n, err := strconv.Atoi(parts[4]); err == nil && n == 0 {
		return refused(fmt.Sprintf("%q has a step of 0", one), "leave the step out, or use, for example, */2")
	}
	first, last := strconv.Itoa(f.min), strconv.Itoa(f.max)
	if f.option == cron.Dow {
		first, last = "SUN", "SAT"
	}
	return refused(fmt.Sprintf("the range %q is reversed", one),
		"use "+between(parts[2], last)+","+between(first, parts[3]))
}

// between returns a range, or its only value.
func between(from, to string) string {
	if strings.EqualFold(from, to) {
		return from
	}
	return from + "-" + to
}

// tooWide returns the error for a step that leaves only one value.
func (f field) tooWide(one string, step int) error {
	hint := fmt.Sprintf("use a step of at most %d", f.max)
	switch f.option {
	case cron.Minute:
		hint += fmt.Sprintf(", or @every %dm", step)
	case cron.Hour:
		hint += fmt.Sprintf(", or @every %dh", step)
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("the %s is %q, but its range is %s", f.name, one, f.allowed),
		hint).With("part", one)
}

// sunday returns the correction of an item that uses 7 for Sunday.
func sunday(from, step string) string {
	switch {
	case from == "7":
		return "use SUN, or 0, for Sunday"
	case step == "" || step == "1":
		return "use " + between(from, "SAT") + ",SUN"
	}
	return "list the days, such as TUE,THU,SUN"
}

// values returns the number of values of a field.
func values(set uint64) int { return bits.OnesCount64(set &^ starBit) }
