package console

import (
	"fmt"
	"time"
)

// duration formats a duration, or a number of seconds, in the unit that fits.
func duration(d any) string {
	var v time.Duration
	switch x := d.(type) {
	case time.Duration:
		v = x
	case float64:
		v = time.Duration(x * float64(time.Second))
	default:
		return ""
	}
	switch {
	case v < time.Second:
		return fmt.Sprintf("%d ms", v.Milliseconds())
	case v < time.Minute:
		return fmt.Sprintf("%.1f s", v.Seconds())
	case v < time.Hour:
		return fmt.Sprintf("%d min %d s", int(v.Minutes()), int(v.Seconds())%60)
	case v < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(v.Hours()), int(v.Minutes())%60)
	}
	return fmt.Sprintf("%d d", int(v.Hours()/24))
}
