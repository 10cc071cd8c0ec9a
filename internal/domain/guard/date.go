package guard

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// day is a calendar date. Zero fields are unknown; weekday counts from 1 for Monday.
type day struct{ year, month, day, weekday int }

// dateIn is a date in a text. An ambiguous one, such as 05/06/2024, has several readings.
type dateIn struct {
	window
	readings []day
}

const (
	monthWords = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|` +
		`oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`
	weekdayWords = `mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|` +
		`sun(?:day)?`
	dayWords = `\d{1,2}(?:st|nd|rd|th)?|(?:twenty|thirty)[- ](?:first|second|third|fourth|fifth|sixth|seventh|` +
		`eighth|ninth)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|` +
		`fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth`
	// upTo is the second day of a range before the month. After the month, a word needs an ordinal: "May 20
	// and 3 bags".
	upTo  = `(?:\s*(?:-|–|—|to|and|or|through|until|&)\s*(?:the\s+)?(` + dayWords + `)\b)?`
	until = `(?:\s*(?:-|–|—)\s*(\d{1,2})(?:st|nd|rd|th)?\b|\s+(?:to|and|or|through|until|&)\s+(?:the\s+)?` +
		`(\d{1,2}(?:st|nd|rd|th))\b|\s+(?:to|through|until)\s+(\d{1,2})\b)?`
	yearWords = `(\d{4}|['’]\d{2})`
	clockTime = `(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z\b|[+-]\d{2}:?\d{2})?)?`
	hanDigits = `[〇零一二三四五六七八九十廿卅\d]`
)

var (
	numericDate = regexp.MustCompile(`(\d{1,4})([-/.])(\d{1,2})(?:([-/.])(\d{1,4}))?` + clockTime)
	compactDate = regexp.MustCompile(`(?:19|20)\d{6}`)
	monthFirst  = regexp.MustCompile(`(?i)\b(?:(?:` + weekdayWords + `)\b[.,]?\s+(?:the\s+)?)?(` + monthWords +
		`)\b\.?[\s-]+(?:the\s+)?(` + dayWords + `)\b` + until + `(?:(?:\s*,\s*|\s+of\s+|\s+|-)` + yearWords + `\b)?`)
	dayFirst = regexp.MustCompile(`(?i)\b(?:(?:` + weekdayWords + `)\b[.,]?\s+)?(?:the\s+)?(` + dayWords + `)\b` +
		upTo + `\.?[\s-]*(?:of\s+)?(` + monthWords + `)\b(?:\.?(?:\s*,\s*|\s+|-)` + yearWords + `\b)?`)
	weekdayDate = regexp.MustCompile(`(?i)\b(` + weekdayWords + `)\b[.,]?\s+(?:the\s+)?(\d{1,2}(?:st|nd|rd|th))\b`)
	hanDate     = regexp.MustCompile(`(?:(` + hanDigits + `{2,4})\s*年\s*)?(` + hanDigits + `{1,3})\s*月\s*(` +
		hanDigits + `{1,3})\s*[日号號](?:\s*[至到~～–-]\s*(` + hanDigits + `{1,3})\s*[日号號])?` +
		`(?:\s*[（(]?(?:星期|周|礼拜)[一二三四五六日天][）)]?)?`)
)

// dates finds the dates in a text in any usual form. They may overlap.
func dates(text string) (found []dateIn) {
	offset := 0
	for line := range strings.Lines(text) {
		for _, d := range datesInLine(line) {
			found = append(found, dateIn{window{offset + d.start, offset + d.end}, d.readings})
		}
		offset += len(line)
	}
	return found
}

// datesInLine tries only the forms of which the line has a sign: regular expressions are slow.
func datesInLine(text string) (found []dateIn) {
	digits, month, weekday, ordinal := dateSigns(text)
	if digits {
		found = digitDates(text)
	}
	add := func(m match, year, month, first, last string) {
		var readings []day
		for _, text := range []string{first, last} {
			d := day{year: yearOf(year), month: monthOf(month), day: dayOf(text)}
			if d.valid() {
				readings = append(readings, d)
			}
		}
		if len(readings) > 0 {
			found = append(found, dateIn{m.window, readings})
		}
	}
	if month && (digits || ordinal) {
		for _, m := range submatches(monthFirst, text) {
			add(m, m.group[6], m.group[1], m.group[2], m.group[3]+m.group[4]+m.group[5])
		}
		for _, m := range submatches(dayFirst, text) {
			add(m, m.group[4], m.group[3], m.group[1], m.group[2])
		}
	}
	if strings.Contains(text, "月") {
		for _, m := range submatches(hanDate, text) {
			add(m, m.group[1], m.group[2], m.group[3], m.group[4])
		}
	}
	if weekday && digits {
		for _, m := range submatches(weekdayDate, text) {
			if d := (day{day: dayOf(m.group[2]), weekday: weekdayOf(m.group[1])}); d.day > 0 && d.day <= 31 {
				found = append(found, dateIn{m.window, []day{d}})
			}
		}
	}
	return found
}

// dateSigns reports whether a line has digits, and words that start like months, weekdays and ordinals.
func dateSigns(text string) (digits, month, weekday, ordinal bool) {
	const prefix = 3
	inside := false
	for i := range len(text) {
		letter := text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z'
		digits = digits || digit(text[i])
		if letter && !inside && i+prefix <= len(text) {
			word := strings.ToLower(text[i : i+prefix])
			month = month || slices.Contains(months, word)
			weekday = weekday || slices.Contains(weekdays, word)
			ordinal = ordinal || ordinalSigns[word]
		}
		inside = letter
	}
	return digits, month, weekday, ordinal
}

// digitDates finds dates without words.
func digitDates(text string) (found []dateIn) {
	for _, m := range submatches(numericDate, text) {
		if w, readings := numeric(text, m); len(readings) > 0 {
			found = append(found, dateIn{w, readings})
		}
	}
	for _, at := range compactDate.FindAllStringIndex(text, -1) {
		w := window{at[0], at[1]}
		if d := numbers(text[w.start:w.start+4], text[w.start+4:w.start+6], text[w.start+6:w.end]); bounded(text, w) &&
			d.valid() {
			found = append(found, dateIn{w, []day{d}})
		}
	}
	return found
}

// match is a match of a regular expression with the texts of its groups.
type match struct {
	window
	group []string
}

func submatches(pattern *regexp.Regexp, text string) (out []match) {
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		m := match{window: window{at[0], at[1]}}
		for i := 0; i < len(at); i += 2 {
			group := ""
			if at[i] >= 0 {
				group = text[at[i]:at[i+1]]
			}
			m.group = append(m.group, group)
		}
		out = append(out, m)
	}
	return out
}

// numeric reads a date of digits: 2024-05-20, 05/20/2024, 20.05.24, 5/20.
func numeric(text string, m match) (w window, readings []day) {
	a, mark, b, second, c := m.group[1], m.group[2], m.group[3], m.group[4], m.group[5]
	w = m.window
	if c != "" && (mark != second || len(c) == 3 || len(c) == 1 && len(a) < 4) {
		return w, nil
	}
	if !bounded(text, w) {
		return w, nil
	}
	var all []day
	short := mark == "/" || len(a) == 2 && len(b) == 2
	switch {
	case len(a) == 4 && c != "" && len(c) <= 2:
		all = []day{numbers(a, b, c)}
	case len(a) > 2:
	case c != "" && mark == ".":
		all = []day{numbers(c, b, a)}
	case c != "":
		all = []day{numbers(c, a, b), numbers(c, b, a)}
		if mark == "-" && len(c) == 2 {
			all = append(all, numbers(a, b, c))
		}
	case short && mark == ".":
		all = []day{numbers("", b, a)}
	case short:
		all = []day{numbers("", a, b), numbers("", b, a)}
	}
	for _, d := range all {
		if d.valid() {
			readings = append(readings, d)
		}
	}
	return w, readings
}

// bounded reports whether digits are not part of a longer number, version or word.
func bounded(text string, w window) bool {
	before, size := utf8.DecodeLastRuneInString(text[:w.start])
	first, _ := utf8.DecodeLastRuneInString(text[:w.start-size])
	after, size := utf8.DecodeRuneInString(text[w.end:])
	last, _ := utf8.DecodeRuneInString(text[min(len(text), w.end+size):])
	joined := func(mark, other rune) bool {
		return strings.ContainsRune("-/.,:", mark) && unicode.IsDigit(other) || mark == '%' ||
			wordRune(mark) && mark != '_' && !unicode.Is(unicode.Han, mark)
	}
	return !joined(before, first) && !joined(after, last)
}

// numbers returns a date of decimal digits. A year of two digits is in 1950–2049.
func numbers(year, month, dayText string) day {
	y, _ := strconv.Atoi(year)
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(dayText)
	if len(year) == 2 {
		y = century(y)
	}
	return day{year: y, month: m, day: d}
}

func century(year int) int {
	const turn, before, after = 50, 1900, 2000
	if year >= turn {
		return before + year
	}
	return after + year
}

// valid reports whether month and day exist. An unknown year counts as a leap year.
func (d day) valid() bool {
	year := d.year
	if year == 0 {
		year = 2000
	}
	const first, last = 1900, 2199
	t := time.Date(year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return year >= first && year <= last && d.month > 0 && d.day > 0 && int(t.Month()) == d.month && t.Day() == d.day
}

// same reports whether two dates agree in everything that both state.
func (d day) same(other day) bool {
	if d.weekday > 0 || other.weekday > 0 { // one of them has no month
		whole, part := d, other
		if d.weekday > 0 {
			whole, part = other, d
		}
		if whole.month == 0 || whole.day != part.day {
			return whole == part
		}
		t := time.Date(whole.year, time.Month(whole.month), whole.day, 0, 0, 0, 0, time.UTC)
		return whole.year == 0 || (int(t.Weekday())+6)%7+1 == part.weekday
	}
	return d.month == other.month && d.day == other.day && (d.year == 0 || other.year == 0 || d.year == other.year)
}

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	ordinals = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
		"eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
		"nineteenth", "twentieth"}
)

// ordinalSigns are the first letters of ordinals in words.
var ordinalSigns = func() map[string]bool {
	signs := map[string]bool{"thi": true, "twe": true}
	for _, word := range ordinals {
		signs[word[:3]] = true
	}
	return signs
}()

func monthOf(text string) int   { return max(prefixIn(months, text), hanNumber(text)) }
func weekdayOf(text string) int { return prefixIn(weekdays, text) }

// prefixIn returns the position, from 1, of the name that text starts with.
func prefixIn(names []string, text string) int {
	for i, name := range names {
		if strings.HasPrefix(strings.ToLower(text), name) {
			return i + 1
		}
	}
	return 0
}

func dayOf(text string) int {
	text = strings.ToLower(text)
	if n := hanNumber(strings.TrimRight(text, "stndrh")); n > 0 {
		return n
	}
	for i, word := range ordinals {
		if text == word {
			return i + 1
		}
	}
	tens, word, both := strings.Cut(strings.ReplaceAll(text, " ", "-"), "-")
	n := map[string]int{"twenty": 20, "thirty": 30, "thirtieth": 30}[tens]
	for i, ordinal := range ordinals {
		if both && n > 0 && word == ordinal {
			return n + i + 1
		}
	}
	return n
}

func yearOf(text string) int {
	digits := strings.Map(func(r rune) rune {
		if n := strings.Index("〇一二三四五六七八九", string(r)); n >= 0 {
			return '0' + rune(n/utf8.RuneLen(r))
		}
		if r == '零' {
			return '0'
		}
		return r
	}, strings.Trim(text, "'’"))
	year, _ := strconv.Atoi(digits)
	if len(digits) == 2 {
		return century(year)
	}
	return year
}

// hanNumber reads a number below 100 in digits or Chinese: 20, 二十, 廿三. It returns 0 for others.
func hanNumber(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	text = strings.NewReplacer("廿", "二十", "卅", "三十").Replace(text)
	tens, units, both := strings.Cut(text, "十")
	if !both {
		return hanDigit(text)
	}
	n := 1
	if tens != "" {
		n = hanDigit(tens)
	}
	return 10*n + hanDigit(units)
}

func hanDigit(text string) int {
	if at := strings.Index("一二三四五六七八九", text); text != "" && at >= 0 {
		return at/len("一") + 1
	}
	return 0
}
