package recurrence

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"cairn/internal/domain/fault"
)

const (
	// Daily is the default expression of a workspace.
	// Daily is the expression of a workspace that chose none.
	Daily = "0 23 * * *"

	// MinEvery is the shortest period. The sweep for due work runs at most once a minute.
	MinEvery = time.Minute
	// MaxEvery keeps sums of periods and instants far below an overflow.
	MaxEvery = 366 * 24 * time.Hour

	// maxExpression, in bytes, exceeds an expression that lists every minute.
	maxExpression = 400
)

// shorthands are the named expressions.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse parses an expression in the IANA zone. An expression has five fields (minute, hour, day of
// the month, month, day of the week), or is a shorthand such as @daily, or @every with a period of
// whole minutes. Forms with different meanings in different cron implementations are rejected.
// Errors are fault.InvalidArgument, with the invalid part in Extra["part"] and a correction in the
// hint.
func Parse(expression, zone string) (Schedule, error) {
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if len(expression) > maxExpression {
		return Schedule{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the cron expression has %d bytes, at most %d are allowed", len(expression), maxExpression),
			"use ranges and steps, such as 0-30/2")
	}
	words := strings.Fields(expression)
	s := Schedule{expression: strings.Join(words, " "), clock: clock{location}}
	switch {
	case len(words) == 0:
		return Schedule{}, fault.New(fault.InvalidArgument, "the cron expression is empty",
			"use minute, hour, day of the month, month and day of the week, such as "+Daily)
	case strings.HasPrefix(words[0], "TZ=") || strings.HasPrefix(words[0], "CRON_TZ="):
		return Schedule{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the cron expression contains a time zone, %q", words[0]),
			fmt.Sprintf("set the time zone separately, and use the expression %q", strings.Join(words[1:], " "))).
			With("part", words[0])
	case words[0] == "@every":
		s.every, err = parseEvery(words[1:])
	case strings.HasPrefix(words[0], "@"):
		long, known := shorthands[s.expression]
		if !known {
			return Schedule{}, fault.New(fault.InvalidArgument,
				fmt.Sprintf("unknown schedule %q", s.expression),
				"use @hourly, @daily, @weekly, @monthly, @yearly, @every 2h, or five fields such as "+Daily).
				With("part", words[0])
		}
		s.walls, err = parseFields(strings.Fields(long))
	default:
		s.walls, err = parseFields(words)
	}
	if err != nil {
		return Schedule{}, err
	}
	return s, nil
}

func parseEvery(words []string) (time.Duration, error) {
	text := strings.Join(words, " ")
	refused := func(message, hint string) (time.Duration, error) {
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("@every %s: %s", text, message), hint).With("part", text)
	}
	every, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return refused("invalid period", "use, for example, @every 90m or @every 2h")
	case every < MinEvery:
		return refused("the period must be at least one minute", "use @every 1m or more")
	case every > MaxEvery:
		return refused("the period must be at most 366 days", "use five fields, such as 0 0 1 1 * for once a year")
	case every%time.Minute != 0:
		return refused("the period must be whole minutes", fmt.Sprintf("use @every %dm", every/time.Minute))
	}
	return every, nil
}

func parseFields(words []string) (*cron.SpecSchedule, error) {
	if len(words) != len(fields) {
		return nil, miscounted(words)
	}
	s := &cron.SpecSchedule{Second: 1, Location: time.UTC}
	for i, f := range fields {
		if err := f.parse(words[i], s); err != nil {
			return nil, err
		}
	}
	if s.Dom&starBit == 0 && s.Dow&starBit == 0 {
		weekdays, days := withStar(words, 2), withStar(words, 4)
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the cron expression %q restricts the day of the month, %s, and the day of the week, %s",
				strings.Join(words, " "), words[2], words[4]),
			fmt.Sprintf("schedulers interpret this differently; use %q or %q", weekdays, days)).
			With("part", words[2]+" "+words[3]+" "+words[4])
	}
	return s, possible(s, words)
}

// miscounted returns the error for a number of fields other than five. With six fields it finds the
// extra one.
func miscounted(words []string) error {
	hint := "use minute, hour, day of the month, month and day of the week, such as " + Daily
	message := fmt.Sprintf("the cron expression %q has %d fields, must have 5", strings.Join(words, " "), len(words))
	if len(words) != len(fields)+1 {
		return fault.New(fault.InvalidArgument, message, hint)
	}
	part := words[0]
	if _, err := parseFields(words[1:]); err == nil {
		message, hint = message+": seconds are not supported", fmt.Sprintf("use %q", strings.Join(words[1:], " "))
	} else if _, err := parseFields(words[:5]); err == nil {
		part = words[5]
		message, hint = message+": years are not supported", fmt.Sprintf("use %q", strings.Join(words[:5], " "))
	}
	return fault.New(fault.InvalidArgument, message, hint).With("part", part)
}

// withStar returns the expression with one field replaced by *.
func withStar(words []string, i int) string {
	open := append([]string{}, words...)
	open[i] = "*"
	return strings.Join(open, " ")
}

// possible rejects days that none of the months has. Package cron would search five years for them
// and find nothing.
func possible(s *cron.SpecSchedule, words []string) error {
	longest := 0
	for month := time.January; month <= time.December; month++ {
		if s.Month&(1<<month) == 0 {
			continue
		}
		days := time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day() // in a leap year
		if s.Dom&(1<<(days+1)-1)&^1 != 0 {
			return nil
		}
		if month == time.February {
			days-- // correct to a day that every year has
		}
		longest = max(longest, days)
	}
	return fault.New(fault.InvalidArgument,
		fmt.Sprintf("the cron expression %q never fires: month %s has no day %s", strings.Join(words, " "), words[3],
			words[2]),
		fmt.Sprintf("use %q", strings.Join([]string{words[0], words[1], fmt.Sprint(longest), words[3], words[4]},
			" "))).With("part", words[2]+" "+words[3])
}
