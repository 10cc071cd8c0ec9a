package transcript

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timeLayouts are the forms of a time in chat exports. A layout without a zone is read as UTC.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02 15:04", "2006/1/2 15:04", "02.01.2006 15:04",
	"3:04 PM on 2 January, 2006", "Jan 2, 2006 3:04 PM", "1/2/2006 3:04 PM", "1/2/06, 3:04 PM",
}

// ClockOnly matches a time of day. It shows that a line is a message, but not its date.
var ClockOnly = regexp.MustCompile(`^(?i)\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s*[ap]m)?$`)

// ParseTime parses a time, or seconds or milliseconds since 1970.
func ParseTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return parseEpoch(seconds)
	}
	text = strings.NewReplacer(" am", " AM", " pm", " PM").Replace(text)
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() && t.Year() > 0 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func parseEpoch(seconds float64) (time.Time, bool) {
	const milliseconds, latest = 1e11, 253402300799 // 1e11 s is the year 5138; the latest is 9999-12-31
	if seconds >= milliseconds {
		seconds /= 1000
	}
	if seconds <= 0 || seconds > latest || seconds != seconds {
		return time.Time{}, false
	}
	whole := int64(seconds)
	return time.Unix(whole, int64((seconds-float64(whole))*1e9)).UTC().Truncate(time.Microsecond), true
}
