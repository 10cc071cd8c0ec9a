package console

import (
	"fmt"
	"time"
)

// width is the width of a waterfall in units of its view box.
const width = 1000

// chartBar is a bar of a waterfall: an interval of time within a larger one.
type chartBar struct {
	Kind string // class of its color
	X, W string // position and width
}

// least is the width of the shortest bar, so that it can be seen.
const least = 4.0

// newChartBar returns the bar of the interval from–to within begin–end.
func newChartBar(kind string, begin, end, from, to time.Time) chartBar {
	whole := end.Sub(begin).Seconds()
	if whole <= 0 {
		return chartBar{kind, "0", fmt.Sprint(width)}
	}
	x := clamp(from.Sub(begin).Seconds() / whole * width)
	w := max(clamp(to.Sub(begin).Seconds()/whole*width)-x, least)
	x = min(x, width-w)
	return chartBar{kind, fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", w)}
}

func clamp(v float64) float64 { return min(max(v, 0), width) }

// chartColumn is a column of a bar chart in a view box of 1000 by 200.
type chartColumn struct{ X, Y, W, H string }

const height = 200.0

// chartColumns returns the columns of values. The largest one has the full height.
func chartColumns(values []float64) []chartColumn {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	out := make([]chartColumn, len(values))
	step := width / float64(max(len(values), 1))
	for i, v := range values {
		h := 0.0
		if most > 0 {
			h = v / most * height
		}
		out[i] = chartColumn{fmt.Sprintf("%.1f", float64(i)*step+step*0.1), fmt.Sprintf("%.1f", height-h),
			fmt.Sprintf("%.1f", step*0.8), fmt.Sprintf("%.1f", h)}
	}
	return out
}

// chartPoint is a value with its confidence interval, all from 0 to 1, at a position of an axis.
type chartPoint struct {
	At              float64 // 0 to 1
	Value, Low, Top float64
}

// chartCurve is a line in a view box of 1000 by 200, with the area of its confidence intervals.
type chartCurve struct {
	Kind string        // class of its color
	Line string        // points of a polyline
	Band string        // points of a polygon
	Dots []chartColumn // centers, so that a single value can be seen: X and Y only
}

// newChartCurve returns the curve of points in the order of their positions.
func newChartCurve(kind string, points []chartPoint) chartCurve {
	out := chartCurve{Kind: kind}
	low := ""
	for _, p := range points {
		x, y := p.At*width, (1-p.Value)*height
		out.Line += fmt.Sprintf("%.1f,%.1f ", x, y)
		out.Band += fmt.Sprintf("%.1f,%.1f ", x, (1-p.Top)*height)
		low = fmt.Sprintf("%.1f,%.1f ", x, (1-p.Low)*height) + low
		out.Dots = append(out.Dots, chartColumn{X: fmt.Sprintf("%.1f", x), Y: fmt.Sprintf("%.1f", y)})
	}
	out.Band += low
	return out
}
