// Package chart computes the geometry of charts, which templates draw as SVG. Positions are attributes, because the
// content security policy forbids style attributes.
package chart

import (
	"fmt"
	"time"
)

// width is the width of a waterfall in units of its view box.
const width = 1000

// Bar is a bar of a waterfall: an interval of time within a larger one.
type Bar struct {
	Kind string // class of its color
	X, W string // position and width
}

// least is the width of the shortest bar, so that it can be seen.
const least = 4.0

// NewBar returns the bar of the interval from–to within begin–end.
func NewBar(kind string, begin, end, from, to time.Time) Bar {
	whole := end.Sub(begin).Seconds()
	if whole <= 0 {
		return Bar{kind, "0", fmt.Sprint(width)}
	}
	x := clamp(from.Sub(begin).Seconds() / whole * width)
	w := max(clamp(to.Sub(begin).Seconds()/whole*width)-x, least)
	x = min(x, width-w)
	return Bar{kind, fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", w)}
}

func clamp(v float64) float64 { return min(max(v, 0), width) }
