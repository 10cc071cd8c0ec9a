package evaluation

import (
	"fmt"
	"math"
	"strings"
)

// Point is a place in a chart.
type Point struct{ X, Y float64 }

// Line is one line of a chart, with its points in ascending order of X.
type Line struct {
	Name   string
	Points []Point
}

// Chart is one set of axes. Without Low and High, the axis of Y covers the points.
type Chart struct {
	Title      string // written above
	Foot       string // written below
	Lines      []Line
	LogX, LogY bool
	Low, High  float64 // the ends of the axis of Y
	Values     bool    // write the values next to the points
}

const (
	width, height, margin = 640.0, 320.0, 40.0
	gridLines             = 4
)

var colors = []string{"#1f6feb", "#c2410c", "#888888", "#2e7d32", "#7b1fa2", "#b8860b"}

// SVG draws charts, one below the other.
func SVG(charts ...Chart) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" `+
		`font-size="12"><rect width="100%%" height="100%%" fill="white"/>`+"\n", width+2*margin,
		float64(len(charts))*(height+2*margin))
	for i, c := range charts {
		c.draw(&b, float64(i)*(height+2*margin))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// scale places values on an axis from 0 to 1.
type scale struct {
	low, high float64
	log       bool
}

func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.low) / math.Max(1e-9, math.Log(s.high/s.low))
	}
	return (v - s.low) / math.Max(1e-9, s.high-s.low)
}

func (s scale) value(share float64) float64 {
	if s.log {
		return s.low * math.Pow(s.high/s.low, share)
	}
	return s.low + share*(s.high-s.low)
}

// scales returns the axes of a chart.
func (c Chart) scales() (x, y scale) {
	x, y = scale{math.Inf(1), math.Inf(-1), c.LogX}, scale{c.Low, c.High, c.LogY}
	if c.Low == 0 && c.High == 0 {
		y.low, y.high = math.Inf(1), math.Inf(-1)
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			x.low, x.high = math.Min(x.low, p.X), math.Max(x.high, p.X)
			if c.Low == 0 && c.High == 0 {
				y.low, y.high = math.Min(y.low, p.Y), math.Max(y.high, p.Y)
			}
		}
	}
	if c.LogY {
		y.low, y.high = y.low/1.5, y.high*1.5
	}
	return x, y
}

func (c Chart) draw(b *strings.Builder, top float64) {
	x, y := c.scales()
	bottom := top + margin + height
	fmt.Fprintf(b, `<text x="%g" y="%g">%s</text>`+"\n", margin, top+20, c.Title)
	for i := 0; i <= gridLines && !math.IsInf(y.low, 0); i++ {
		share := 1 - float64(i)/gridLines
		at := top + margin + height*(1-share)
		fmt.Fprintf(b, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#ddd"/><text x="%g" y="%g" `+
			`text-anchor="end">%s</text>`+"\n", margin, at, margin+width, at, margin-6, at+4,
			chartShort(y.value(share)))
	}
	named := map[float64]bool{}
	for i, l := range c.Lines {
		color := colors[i%len(colors)]
		var points []string
		for _, p := range l.Points {
			px := margin + width*x.at(p.X)
			py := bottom - height*min(1, max(0, y.at(p.Y)))
			points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
			if !c.Values {
				continue
			}
			fmt.Fprintf(
				b,
				`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
				px,
				py,
				color,
				px+5,
				py-4,
				chartShort(p.Y),
			)
			if !named[p.X] {
				fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%.0f</text>`+"\n", px, bottom+15, p.X)
			}
			named[p.X] = true
		}
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`+"\n", color,
			strings.Join(points, " "))
		if l.Name != "" {
			fmt.Fprintf(b, `<text x="%g" y="%g" fill="%s">%s</text>`+"\n", margin+10, top+margin+14*float64(i+1), color,
				l.Name)
		}
	}
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", margin+width/2, bottom+margin-8, c.Foot)
}

// chartShort writes a number with three digits, and large ones without a fraction.
func chartShort(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
}
