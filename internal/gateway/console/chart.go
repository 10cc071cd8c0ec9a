package console

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

// Column is a column of a bar chart in a view box of 1000 by 200.
type Column struct{ X, Y, W, H string }

const height = 200.0

// Columns returns the columns of values. The largest one has the full height.
func Columns(values []float64) []Column {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	out := make([]Column, len(values))
	step := width / float64(max(len(values), 1))
	for i, v := range values {
		h := 0.0
		if most > 0 {
			h = v / most * height
		}
		out[i] = Column{fmt.Sprintf("%.1f", float64(i)*step+step*0.1), fmt.Sprintf("%.1f", height-h),
			fmt.Sprintf("%.1f", step*0.8), fmt.Sprintf("%.1f", h)}
	}
	return out
}

// Point is a value with its confidence interval, all from 0 to 1, at a position of an axis.
type Point struct {
	At              float64 // 0 to 1
	Value, Low, Top float64
}

// Curve is a line in a view box of 1000 by 200, with the area of its confidence intervals.
type Curve struct {
	Kind string   // class of its color
	Line string   // points of a polyline
	Band string   // points of a polygon
	Dots []Column // centers, so that a single value can be seen: X and Y only
}

// NewCurve returns the curve of points in the order of their positions.
func NewCurve(kind string, points []Point) Curve {
	out := Curve{Kind: kind}
	low := ""
	for _, p := range points {
		x, y := p.At*width, (1-p.Value)*height
		out.Line += fmt.Sprintf("%.1f,%.1f ", x, y)
		out.Band += fmt.Sprintf("%.1f,%.1f ", x, (1-p.Top)*height)
		low = fmt.Sprintf("%.1f,%.1f ", x, (1-p.Low)*height) + low
		out.Dots = append(out.Dots, Column{X: fmt.Sprintf("%.1f", x), Y: fmt.Sprintf("%.1f", y)})
	}
	out.Band += low
	return out
}
