package memoryrules

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/lexical"
)

var (
	weekday = regexp.MustCompile(`(?i)\b(?:(next|this|on|last|past|every|each) )?` +
		`(mon|tues|wednes|thurs|fri|satur|sun)day(s)?\b`)
	ahead = regexp.MustCompile(`(?i)\bin (a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) ` +
		`(day|week|month|year)s?\b`)
	ago = regexp.MustCompile(`(?i)\b(a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) ` +
		`(day|week|month|year)s? ago\b`)
	relative = regexp.MustCompile(`(?i)\b(the day after tomorrow|the day before yesterday|tomorrow|yesterday|today|` +
		`tonight|next week|last week|next month|last month|next year|last year)\b|(大后天|后天|前天|明天|昨天|今天|今晚|` +
		`下周|上周|下个?月|上个?月|明年|去年)`)
	counts = strings.Fields("zero one two three four five six seven eight nine ten")
	days   = []string{"sun", "mon", "tues", "wednes", "thurs", "fri", "satur"}
)

// shifts are relative words as years, months and days.
var shifts = map[string][3]int{"the day after tomorrow": {0, 0, 2}, "the day before yesterday": {0, 0, -2},
	"tomorrow": {0, 0, 1}, "yesterday": {0, 0, -1}, "today": {}, "tonight": {}, "next week": {0, 0, 7},
	"last week": {0, 0, -7}, "next month": {0, 1, 0}, "last month": {0, -1, 0}, "next year": {1, 0, 0},
	"last year": {-1, 0, 0}, "大后天": {0, 0, 3}, "后天": {0, 0, 2}, "前天": {0, 0, -2}, "明天": {0, 0, 1}, "昨天": {0, 0, -1},
	"今天": {}, "今晚": {}, "下周": {0, 0, 7}, "上周": {0, 0, -7}, "下月": {0, 1, 0}, "下个月": {0, 1, 0}, "上月": {0, -1, 0},
	"上个月": {0, -1, 0}, "明年": {1, 0, 0}, "去年": {-1, 0, 0}}

// when returns the date of a sentence that was said at a time, which may be zero. named is false for a
// relative date, such as "next Thursday". A repeated day, such as "every Monday", is none.
func when(text string, said time.Time) (date string, named bool) {
	if d, ok := lexical.DateIn(text); ok {
		return written(d, said), true
	}
	if said.IsZero() {
		return "", false
	}
	at := func(shift [3]int) string {
		return said.AddDate(shift[0], shift[1], shift[2]).Format(time.DateOnly)
	}
	if m := ahead.FindStringSubmatch(text); m != nil {
		return at(shiftOf(m[1], m[2], 1)), false
	}
	if m := ago.FindStringSubmatch(text); m != nil {
		return at(shiftOf(m[1], m[2], -1)), false
	}
	if m := weekday.FindStringSubmatch(text); m != nil {
		how := strings.ToLower(m[1])
		if m[3] != "" || how == "every" || how == "each" {
			return "", false
		}
		return at([3]int{0, 0, untilDay(said.Weekday(), strings.ToLower(m[2]), how == "last" || how == "past")}), false
	}
	if m := relative.FindString(text); m != "" {
		return at(shifts[strings.ToLower(m)]), false
	}
	return "", false
}

// written returns a named date. Without a year, it is the one nearest to the time of the message.
func written(d lexical.Date, said time.Time) string {
	if d.Year == 0 {
		if said.IsZero() {
			return ""
		}
		d.Year = said.Year()
		switch months := d.Month - int(said.Month()); {
		case months < -6:
			d.Year++
		case months > 6:
			d.Year--
		}
	}
	if d.Day == 0 {
		return time.Date(d.Year, time.Month(d.Month), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
	}
	return time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

func shiftOf(count, unit string, sign int) (shift [3]int) {
	n, err := strconv.Atoi(count)
	for i, word := range counts {
		if err != nil && strings.EqualFold(word, count) {
			n = i
		}
	}
	if n == 0 { // a, an
		n = 1
	}
	switch strings.ToLower(unit) {
	case "day":
		shift[2] = sign * n
	case "week":
		shift[2] = sign * 7 * n
	case "month":
		shift[1] = sign * n
	case "year":
		shift[0] = sign * n
	}
	return shift
}

// untilDay returns the number of days to the next, or from the last, day of the week with a name.
func untilDay(today time.Weekday, name string, past bool) int {
	n := 0
	for i, day := range days {
		if day == name {
			n = (i - int(today) + 7) % 7
		}
	}
	switch {
	case past:
		return n - 7
	case n == 0:
		return 7
	}
	return n
}
