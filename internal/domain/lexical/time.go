package lexical

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Date is a day that a question names. Unknown parts are 0.
type Date struct{ Year, Month, Day int }

var monthNames = "january|february|march|april|may|june|july|august|september|october|november|december"

var (
	isoDate     = regexp.MustCompile(`\b((?:19|20)\d\d)-(\d{1,2})(?:-(\d{1,2}))?\b`)
	chineseDate = regexp.MustCompile(`(?:((?:19|20)\d\d)\s*年\s*)?(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号])?`)
	dayMonth    = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(` + monthNames +
		`)\b(?:,?\s+((?:19|20)\d\d))?`)
	monthDay = regexp.MustCompile(`(?i)\b(` + monthNames +
		`)\b(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(?:of\s+)?((?:19|20)\d\d))?`)
	timeWords = regexp.MustCompile(`(?i)\b(?:yesterday|today|tomorrow|tonight|last|next|ago|recently|soon|now|` +
		`since|morning|(?:day|week|weekend|month|year)s?|` +
		`(?:mon|tues|wednes|thurs|fri|satur|sun)day|` + monthNames +
		`|(?:19|20)\d\d)\b|昨天|今天|明天|前天|后天|上周|下周|上个月|下个月|去年|今年|明年|最近|刚才|星期|周末|\d\s*[年月日号]`)
	whenWords = regexp.MustCompile(`(?i)^\s*when\b|\b(?:what|which)\s+(?:date|day|week|month|year|time)\b|` +
		`\bhow\s+long\s+ago\b|什么时候|何时|哪天|哪一天|几点|几号|几月|哪年|多久`)
)

// Dated reports whether text contains words of time.
func Dated(text string) bool { return timeWords.MatchString(text) }

// AsksWhen reports whether a question asks for a time.
func AsksWhen(text string) bool { return whenWords.MatchString(text) }

// attachment matches the note that some channels append for an attachment: "[image: a dog]".
var attachment = regexp.MustCompile(`\s*\[[^\[\]]*\]$`)

// Asks reports whether text ends with a question.
func Asks(text string) bool {
	text = strings.TrimSpace(attachment.ReplaceAllString(strings.TrimSpace(text), ""))
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// DateIn returns the first date in text, which has at least a month. "may" is a verb unless a day
// or a year accompanies it.
func DateIn(text string) (Date, bool) {
	for _, form := range []struct {
		of               *regexp.Regexp
		year, month, day int // groups
	}{{isoDate, 1, 2, 3}, {chineseDate, 1, 2, 3}, {dayMonth, 3, 2, 1}, {monthDay, 3, 1, 2}} {
		for _, m := range form.of.FindAllStringSubmatch(text, -1) {
			d := Date{Year: number(m[form.year]), Month: month(m[form.month]), Day: number(m[form.day])}
			verb := strings.HasPrefix(m[form.month], "may") && d.Day == 0 && d.Year == 0
			if !verb && d.Month >= 1 && d.Month <= 12 && d.Day <= 31 {
				return d, true
			}
		}
	}
	return Date{}, false
}

// number returns 0 for an empty group.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func month(s string) int {
	if n := number(s); n != 0 {
		return n
	}
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(s, m.String()) {
			return int(m)
		}
	}
	return 0
}
