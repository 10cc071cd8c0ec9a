package findbench

import (
	"fmt"
	"math"
	"strings"
)

// Plot returns an SVG chart of the search time by workspace size with logarithmic axes: one
// line per number of dimensions for Cairn and for exact search, and for the graph where
// measured.
func Plot(rows []Row) string {
	const width, height, margin = 640, 400, 60
	series, names := map[string][][2]float64{}, []string{}
	add := func(name string, x, y float64) {
		if _, known := series[name]; !known {
			names = append(names, name)
		}
		series[name] = append(series[name], [2]float64{x, y})
	}
	low, high, least, most := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, r := range rows {
		if r.Workspaces > 1 {
			continue
		}
		x := float64(r.Memories)
		if r.Graph {
			add(fmt.Sprintf("hybrid with graph, %d", r.Dims), x, r.P50)
		} else {
			add(fmt.Sprintf("hybrid, %d", r.Dims), x, r.P50)
			add(fmt.Sprintf("bare exact, %d", r.Dims), x, r.BareP50)
		}
		low, high = math.Min(low, math.Min(r.P50, r.BareP50)), math.Max(high, math.Max(r.P50, r.BareP50))
		least, most = math.Min(least, x), math.Max(most, x)
	}
	place := func(v, from, to, length float64) float64 {
		return length * math.Log(v/from) / math.Max(1e-9, math.Log(to/from))
	}
	at := func(p [2]float64) (float64, float64) {
		return margin + place(p[0], least, most, width-2*margin),
			height - margin - place(p[1], low/1.5, high*1.5, height-2*margin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" `+
		`font-size="11"><rect width="100%%" height="100%%" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="black"/><text x="%d" y="%d">p50 in ms over memories `+
		`in the workspace, both logarithmic</text>`+"\n", margin, margin, height-margin, width-margin, margin, 20)
	colours := []string{"#1b6ca8", "#888888", "#c2410c", "#2e7d32", "#7b1fa2", "#b8860b"}
	for i, name := range names {
		var path strings.Builder
		for k, p := range series[name] {
			x, y := at(p)
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[k == 0], x, y)
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/><text x="%.1f" y="%.1f">%.1f</text><text `+
				`x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x, y, colours[i%len(colours)], x+5, y-4, p[1],
				x, height-margin+15, p[0])
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s"/><text x="%d" y="%d" fill="%s">%s dimensions</text>`+"\n",
			path.String(), colours[i%len(colours)], margin+10, margin+14*i, colours[i%len(colours)], name)
	}
	return b.String() + "</svg>\n"
}
